"""Advisories in the format of OSV (https://ossf.github.io/osv-schema/): the snapshot, and what it says of a version."""

import io
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import httpx
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from .installed import read_pins

SNAPSHOT = Path(__file__).with_name("advisories.json")
_ECOSYSTEM = "PyPI"
_DOWNLOAD_S = 300.0
_MAX_SUMMARY = 200


@dataclass(frozen=True)
class Snapshot:
    """Advisories of our packages, as they were on a day.

    Attributes:
        taken: The day; None where no source of advisories could be reached yet.
        packages: The packages that were looked for. A package that is not among them was never checked.
        advisories: OSV records, less what is not needed to match a version.
    """

    taken: str | None
    packages: list[str]
    advisories: list[dict[str, Any]]

    @classmethod
    def read(cls, path: Path = SNAPSHOT) -> "Snapshot":
        """The snapshot in a file."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path = SNAPSHOT) -> None:
        """Writes the file, so that a change of one advisory is a change of few lines."""
        path.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    def age_days(self, today: date) -> int | None:
        """Days since it was taken."""
        return (today - date.fromisoformat(self.taken)).days if self.taken else None

    def known_about(self, package: str, version: Version) -> list[dict[str, Any]]:
        """The advisories that a version of a package is affected by."""
        return [advisory for advisory in self.advisories if _affects(advisory, package, version)]


def take_snapshot(records: Iterable[Mapping[str, Any]], packages: Iterable[str], today: date) -> Snapshot:
    """Keeps what is about our packages and was not withdrawn."""
    names = sorted({canonicalize_name(package) for package in packages})
    kept = (_reduced(record, names) for record in records if not record.get("withdrawn"))
    return Snapshot(today.isoformat(), [*names], sorted(filter(None, kept), key=lambda record: str(record["id"])))


def read_records(source: str) -> Iterator[dict[str, Any]]:
    """The OSV records in a folder or a zip archive, which may be an URL."""
    if Path(source).is_dir():
        for path in sorted(Path(source).rglob("*.json")):
            yield json.loads(path.read_bytes())
        return
    is_url = source.startswith(("https://", "http://"))
    content = _download(source) if is_url else Path(source).read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def _download(url: str) -> bytes:
    reply = httpx.get(url, timeout=_DOWNLOAD_S, follow_redirects=True)
    reply.raise_for_status()
    return reply.content


def _reduced(record: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any] | None:
    affected = []
    for part in record.get("affected", ()):
        package = part.get("package", {})
        if package.get("ecosystem") != _ECOSYSTEM or canonicalize_name(package["name"]) not in names:
            continue
        ranges = [span for span in part.get("ranges", ()) if span["type"] == "ECOSYSTEM"]
        versions = {} if ranges else {"versions": part.get("versions", [])}
        kept_ranges = [{"type": span["type"], "events": span["events"]} for span in ranges]
        name = {"ecosystem": _ECOSYSTEM, "name": canonicalize_name(package["name"])}
        affected.append({"package": name, "ranges": kept_ranges, **versions})
    if not affected:
        return None
    return {
        "id": record["id"],
        "aliases": record.get("aliases", []),
        "summary": (record.get("summary") or record.get("details") or "")[:_MAX_SUMMARY],
        "affected": affected,
    }


def _affects(advisory: Mapping[str, Any], package: str, version: Version) -> bool:
    return any(
        part["package"]["name"] == package
        and (
            any(_in_range(span["events"], version) for span in part["ranges"])
            or version in map(_version, part.get("versions", ()))
        )
        for part in advisory["affected"]
    )


def _in_range(events: Iterable[Mapping[str, str]], version: Version) -> bool:
    """OSV's evaluation: the events up to the version, in order; the last one counts."""
    affected = False
    for event in sorted(events, key=lambda event: _version(next(iter(event.values())))):
        [(kind, text)] = event.items()
        at = _version(text)
        if kind == "introduced" and version >= at:
            affected = True
        elif (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
            affected = False
    return affected


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:  # very old ones; none of them is pinned
        return Version("0")


def main() -> None:
    """`python -m dependencies.advisories SOURCE`."""
    if len(sys.argv) != 2 or not sys.argv[1]:
        sys.exit(
            "give the export of OSV's ecosystem PyPI (all.zip) as a path, a folder or an URL: make advisories FROM=…"
        )
    snapshot = take_snapshot(read_records(sys.argv[1]), read_pins(), datetime.now(UTC).date())
    snapshot.write()
    print(f"{len(snapshot.advisories)} advisories about {len(snapshot.packages)} packages")


if __name__ == "__main__":
    main()
