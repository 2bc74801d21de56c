"""The version of an extraction: the same for the same code and weights, another for others."""

from pathlib import Path

from memory.extraction.extractor import ReadingExtractor
from memory.extraction.version import extraction_version
from testing.fakes.reader import FakeReader


async def test_an_extraction_says_which_version_made_it() -> None:
    extractor = ReadingExtractor(FakeReader(), version=extraction_version())
    for text in ("我們用 RM05-008 測試。", ""):
        [found] = await extractor.extract([text])
        assert found.is_by(extractor.version)
        assert found.version == extraction_version()


def test_other_weights_are_another_version(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    versions = {extraction_version(), extraction_version(tmp_path / "a"), extraction_version(tmp_path / "b")}
    assert len(versions) == 3
    assert extraction_version(tmp_path / "a") in versions


def test_weights_that_cannot_be_read_are_of_no_version(tmp_path: Path) -> None:
    assert extraction_version(tmp_path / "none") == ""
