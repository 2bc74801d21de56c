"""The sample of learned entities, the replay, and the judged files that the figures come from."""

import asyncio
import csv
import json
from pathlib import Path

import pytest

from benchmarks.extraction import learned_entities
from benchmarks.extraction.learned_entities import read, replay, sample, score
from memory.extraction.extractor import ReadingExtractor
from testing.fakes.reader import FakeReader

_JUDGED = sorted((Path(learned_entities.__file__).parent / "data").glob("learned_entities_*.tsv"))
_SAID = ("我同事叫張怡君。", "張怡君在台積電上班。", "台積電的總部在新竹。", "台 積 電 的總部在新竹。")
_SETS = ["memdaily"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    messages = [{"mid": number, "message": text} for number, text in enumerate(_SAID)]
    folder = tmp_path / "memdaily_zh"
    folder.mkdir()
    (folder / "talk.json").write_text(json.dumps([{"tid": 0, "message_list": messages}]))
    return tmp_path


def test_there_are_judged_files() -> None:
    assert _JUDGED


@pytest.mark.parametrize("path", _JUDGED, ids=lambda path: path.stem)
def test_every_row_is_judged_and_every_error_has_a_kind(path: Path) -> None:
    rows = read(path)
    assert all(row["right"] in ("0", "1") and (row["right"] == "0") == bool(row["error"]) for row in rows)
    assert len({(row["set"], row["entity"]) for row in rows}) == len(rows)


def test_a_judged_file_is_scored_with_its_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "judged.tsv"
    rows = [("1", "", "locomo")] * 9 + [("0", "cut", "memdaily")]
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([("right", "error", "set"), *rows])
    score([path])
    result = json.loads(capsys.readouterr().out)
    assert result["precision"] == 0.9
    assert result["interval"] == [0.596, 0.982]  # Wilson, 9 of 10
    assert result["sets"] == {"locomo": 1.0, "memdaily": 0.0}
    assert result["errors"] == {"cut": 1}


def test_what_an_earlier_sample_holds_is_left_out(data: Path, tmp_path: Path) -> None:
    rows = asyncio.run(sample(data, ReadingExtractor(FakeReader()), sets=_SETS, size=10, seed=1))
    assert {"張怡君", "台積電", "新竹"} == {row["entity"] for row in rows}
    earlier = tmp_path / "earlier.tsv"
    earlier.write_text("set\tentity\nmemdaily\t张怡君\n")
    fresh = asyncio.run(sample(data, ReadingExtractor(FakeReader()), sets=_SETS, size=10, seed=1, unlike=[earlier]))
    assert {"台積電", "新竹"} == {row["entity"] for row in fresh}


def test_hearing_everything_twice_doubles_nothing(data: Path) -> None:
    figures = asyncio.run(replay(data, ReadingExtractor(FakeReader()), sets=_SETS, skip=0, take=20))
    assert figures["entities"] == 3
    assert figures["duplicate_rate"] == figures["junk_rate"] == 0
    assert figures["new_at_second_hearing"] == 0
