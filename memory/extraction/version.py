"""Which build of the rules, with which weights, made an extraction: so that a stored one can be told from another."""

from functools import cache
from hashlib import blake2s
from pathlib import Path

_READ_BY = ("extraction", "language", "values")
"""Folders of `memory` whose code and word lists decide what is found."""
_DIGEST_BYTES = 6


def extraction_version(weights: Path | None = None) -> str:
    """Names what extracts: a digest of the rules and, where a tagger runs, one of its weights.

    Args:
        weights: The tagger's weight file; read in whole.

    Returns:
        The version; empty, which is none, where the weights cannot be read.
    """
    try:
        return _rules_digest() if weights is None else f"{_rules_digest()}+{_digest(weights)}"
    except OSError:
        return ""


@cache
def _rules_digest() -> str:
    """Of all files in the folders but READMEs: a rule that changes cannot keep the old version by oversight."""
    root = Path(__file__).parents[1]
    files = sorted(path for folder in _READ_BY for path in (root / folder).rglob("*") if path.is_file())
    files = [path for path in files if path.suffix not in (".pyc", ".md")]
    return _digest(*files)


def _digest(*files: Path) -> str:
    digest = blake2s(digest_size=_DIGEST_BYTES)
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()
