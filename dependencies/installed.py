"""Pins and installed distributions."""

from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent


def read_pins(path: Path = ROOT / "constraints.txt") -> dict[NormalizedName, Version]:
    """The pinned version of each package, transitive ones included."""
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    pairs = (line.split("==") for line in lines if line)
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def runtime_dependencies(root: str = "jiyi") -> dict[NormalizedName, Distribution]:
    """All distributions that an installation without extras brings, by name; `root` itself is not among them.

    Raises:
        PackageNotFoundError: One is not installed here.
    """
    extras: dict[NormalizedName, set[str]] = {}
    found: dict[NormalizedName, Distribution] = {}
    waiting = [Requirement(root)]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found and wanted.extras <= extras[name]:
            continue
        extras.setdefault(name, set()).update(wanted.extras)
        found[name] = distribution(name)
        for text in found[name].requires or ():
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras[name]}):
                waiting.append(needed)
    del found[canonicalize_name(root)]
    return dict(sorted(found.items()))
