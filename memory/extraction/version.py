"""The version of the code and weights that made an extraction, stored with it."""

from functools import cache
from hashlib import blake2s
from pathlib import Path

_READ_BY = ("extraction", "language", "values")
"""Folders of `memory` whose code and word lists determine an extraction."""
_DIGEST_BYTES = 6


def extraction_version(weights: Path | None = None) -> str:
    """A digest of code, word lists and the reader's weight file, if any; empty where it cannot be read."""
    try:
        return _code_digest() if weights is None else f"{_code_digest()}+{_digest(weights)}"
    except OSError:
        return ""


@cache
def _code_digest() -> str:
    """The digest of all files in the folders but READMEs, so that any change changes the version."""
    root = Path(__file__).parents[1]
    files = sorted(path for folder in _READ_BY for path in (root / folder).rglob("*") if path.is_file())
    files = [path for path in files if path.suffix not in (".pyc", ".md")]
    return _digest(*files)


def _digest(*files: Path) -> str:
    digest = blake2s(digest_size=_DIGEST_BYTES)
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()
