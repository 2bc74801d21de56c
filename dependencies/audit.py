"""`python -m dependencies.audit`: every pin against the snapshot of advisories, without a network."""

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from packaging.utils import NormalizedName
from packaging.version import Version

from .advisories import Snapshot
from .installed import read_pins

EXCEPTIONS = Path(__file__).with_name("exceptions.toml")
MAX_AGE_DAYS = 90


@dataclass(frozen=True)
class Report:
    """What an audit found.

    Attributes:
        failures: Known vulnerabilities without a reason to accept them.
        accepted: Those with one.
        warnings: Why the audit may have missed some.
        summary: What was checked.
    """

    failures: list[str]
    accepted: list[str]
    warnings: list[str]
    summary: str


def read_exceptions(path: Path = EXCEPTIONS) -> dict[str, str]:
    """The accepted advisories with their reasons.

    Raises:
        ValueError: One has no reason.
    """
    reasons = tomllib.loads(path.read_text(encoding="utf-8"))
    for advisory, reason in reasons.items():
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"{path.name}: {advisory} needs a reason")
    return reasons


def audit(
    pins: Mapping[NormalizedName, Version], snapshot: Snapshot, exceptions: Mapping[str, str], *, today: date
) -> Report:
    """Compares each pin with the advisories."""
    failures, accepted, used = [], [], set[str]()
    for package, version in pins.items():
        for advisory in snapshot.known_about(package, version):
            ids = [advisory["id"], *advisory["aliases"]]
            reasons = [name for name in ids if name in exceptions]
            used.update(reasons)
            line = f"{package} {version}: {', '.join(ids)}: {advisory['summary']}{_fixed_in(advisory, package)}"
            if reasons:
                accepted.append(f"{line}; accepted: {exceptions[reasons[0]]}")
            else:
                failures.append(line)
    unchecked = [package for package in pins if package not in snapshot.packages]
    warnings = [f"exceptions.toml: {name} affects no pin any more" for name in exceptions if name not in used]
    age = snapshot.age_days(today)
    if age is None:
        warnings.append("no advisories were taken yet: make advisories FROM=… (dependencies/README.md)")
    elif age > MAX_AGE_DAYS:
        warnings.append(f"the advisories are {age} days old: make advisories FROM=…")
    if unchecked:
        shown = ", ".join(unchecked[:10]) + (", …" if len(unchecked) > 10 else "")
        warnings.append(f"{len(unchecked)} packages were not looked for: {shown}")
    summary = (
        f"{len(pins) - len(unchecked)} of {len(pins)} pins checked against {len(snapshot.advisories)} advisories of "
        f"{snapshot.taken or 'no day'}: {len(failures)} vulnerable, {len(accepted)} accepted"
    )
    return Report(failures, accepted, warnings, summary)


def _fixed_in(advisory: Mapping[str, Any], package: str) -> str:
    fixes = [
        event["fixed"]
        for part in advisory["affected"]
        if part["package"]["name"] == package
        for span in part["ranges"]
        for event in span["events"]
        if "fixed" in event
    ]
    return f"; fixed in {', '.join(fixes)}" if fixes else "; not fixed"


def main() -> int:
    """Prints the report; 1 where a pin is vulnerable."""
    report = audit(read_pins(), Snapshot.read(), read_exceptions(), today=datetime.now(UTC).date())
    for label, lines in (("accepted", report.accepted), ("warning", report.warnings), ("VULNERABLE", report.failures)):
        for line in lines:
            print(f"{label}: {line}")
    print(f"audit: {report.summary}")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
