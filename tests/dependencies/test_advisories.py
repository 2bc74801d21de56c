"""What an advisory says of a version, what a snapshot keeps, and when the audit fails."""

import json
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name
from packaging.version import Version

from dependencies import audit as audit_module
from dependencies.advisories import Snapshot, read_records, take_snapshot
from dependencies.audit import Report, audit, read_exceptions
from dependencies.installed import read_pins

TODAY = date(2026, 11, 23)


def advisory(*events: dict[str, str], package: str = "Some_Thing", **more: Any) -> dict[str, Any]:
    """An OSV record as a source publishes it."""
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}, {"type": "GIT", "events": [{"introduced": "0"}]}]
    affected = {"package": {"ecosystem": "PyPI", "name": package}, "ranges": ranges, "versions": ["0.1"]}
    return {"id": "GHSA-1", "aliases": ["CVE-1"], "summary": "It is bad.", "affected": [affected], **more}


def snapshot_of(*records: dict[str, Any]) -> Snapshot:
    return take_snapshot(records, ["some-thing", "another"], TODAY)


def report_on(
    version: str, *records: dict[str, Any], today: date = TODAY, exceptions: dict[str, str] | None = None
) -> Report:
    pins = {canonicalize_name("some-thing"): Version(version)}
    return audit(pins, snapshot_of(*records), exceptions or {}, today=today)


@pytest.mark.parametrize(
    ("events", "affected", "sound"),
    [
        ([{"introduced": "0"}], ["0.1", "2026.1"], []),
        ([{"introduced": "0"}, {"fixed": "1.2"}], ["0.1", "1.1.9", "1.2rc1"], ["1.2", "1.2.post1", "2"]),
        ([{"introduced": "1"}, {"last_affected": "1.4"}], ["1", "1.4"], ["0.9", "1.4.1"]),
        (
            [{"fixed": "1.1"}, {"introduced": "2"}, {"introduced": "0"}, {"fixed": "2.5"}],
            ["1", "2", "2.4"],
            ["1.1", "3"],
        ),
    ],
)
def test_ranges_are_read_as_osv_defines_them(
    events: list[dict[str, str]], affected: list[str], sound: list[str]
) -> None:
    for version in affected:
        assert len(report_on(version, advisory(*events)).failures) == 1, version
    for version in sound:
        assert report_on(version, advisory(*events)).failures == [], version


@given(st.tuples(*[st.integers(0, 30)] * 3), st.tuples(*[st.integers(0, 30)] * 3))
def test_whatever_is_below_the_fix_is_affected(pinned: tuple[int, ...], fixed: tuple[int, ...]) -> None:
    version, fix = (".".join(map(str, parts)) for parts in (pinned, fixed))
    report = report_on(version, advisory({"introduced": "0"}, {"fixed": fix}))
    assert bool(report.failures) == (pinned < fixed)


def test_versions_count_where_there_is_no_range() -> None:
    record = advisory()
    record["affected"][0] |= {"ranges": [], "versions": ["1.0", "very old"]}
    assert len(report_on("1", record).failures) == 1
    assert report_on("1.1", record).failures == []


def test_what_is_withdrawn_or_about_others_is_not_kept() -> None:
    always = {"introduced": "0"}
    other_world = advisory(always)
    other_world["affected"][0]["package"]["ecosystem"] = "npm"
    snapshot = snapshot_of(advisory(always, withdrawn="2026-01-01"), advisory(always, package="not-ours"), other_world)
    assert (snapshot.advisories, snapshot.packages) == ([], ["another", "some-thing"])


def test_a_vulnerability_fails_and_says_what_to_do() -> None:
    [line] = report_on("1.1", advisory({"introduced": "0"}, {"fixed": "1.2"})).failures
    assert line == "some-thing 1.1: GHSA-1, CVE-1: It is bad.; fixed in 1.2"


@pytest.mark.parametrize("name", ["GHSA-1", "CVE-1"])
def test_an_exception_accepts_it_by_id_or_alias_with_its_reason(name: str) -> None:
    report = report_on("1.1", advisory({"introduced": "0"}), exceptions={name: "never called"})
    assert report.failures == []
    assert report.accepted[0].endswith("not fixed; accepted: never called")
    assert report.warnings == []


def test_what_the_audit_may_have_missed_is_a_warning() -> None:
    known = advisory({"introduced": "0"}, {"fixed": "1"})
    assert report_on("1", known).warnings == []
    assert "affects no pin any more" in report_on("1", known, exceptions={"CVE-1": "old"}).warnings[0]
    assert report_on("1", known, today=date(2027, 2, 21)).warnings == []
    assert "91 days old" in report_on("1", known, today=date(2027, 2, 22)).warnings[0]
    never = audit({canonicalize_name("new-one"): Version("1")}, Snapshot(None, [], []), {}, today=TODAY)
    assert "no advisories were taken yet" in never.warnings[0]
    assert "1 packages were not looked for: new-one" in never.warnings[1]
    assert never.summary.startswith("0 of 1 pins checked")


def test_an_exception_without_a_reason_is_refused(tmp_path: Path) -> None:
    (tmp_path / "exceptions.toml").write_text('"GHSA-1" = " "')
    with pytest.raises(ValueError, match="GHSA-1 needs a reason"):
        read_exceptions(tmp_path / "exceptions.toml")


def test_a_snapshot_of_an_archive_or_a_folder_is_written_and_read(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "GHSA-1.json").write_text(json.dumps(advisory({"introduced": "0"})))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(folder / "GHSA-1.json", "GHSA-1.json")
    snapshots = [snapshot_of(*read_records(str(tmp_path / name))) for name in ("records", "all.zip")]
    assert snapshots[0] == snapshots[1]
    snapshots[0].write(tmp_path / "advisories.json")
    assert Snapshot.read(tmp_path / "advisories.json") == snapshots[0]


def test_the_command_fails_on_a_vulnerable_pin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit_module.main() == 0, capsys.readouterr().out
    bad = take_snapshot([advisory({"introduced": "0"}, package="torch")], read_pins(), TODAY)
    monkeypatch.setattr(Snapshot, "read", lambda: bad)
    assert audit_module.main() == 1
    assert "VULNERABLE: torch " in capsys.readouterr().out
