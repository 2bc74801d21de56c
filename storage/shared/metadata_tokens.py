"""Metadata as keyword tokens: each key with its value is one opaque word, so no key or value can pose as another."""

import hashlib
import json
from collections.abc import Mapping

from memory.values.base import Scalar

_LONGEST = 64


def metadata_token(key: str, value: Scalar) -> str:
    """The token of one key with one value.

    Numbers are equal as numbers (1 and 1.0 share a token, 1 and true do not). A token is the JSON of the pair, which
    begins with `[`; a long one is replaced by its digest, which begins with `#`.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    token = json.dumps([key, value], separators=(",", ":"))
    if len(token) <= _LONGEST:
        return token
    return f"#{hashlib.blake2b(token.encode(), digest_size=20).hexdigest()}"


def metadata_tokens(metadata: Mapping[str, Scalar]) -> list[str]:
    """The tokens of all pairs, in the order of their keys."""
    return [metadata_token(key, metadata[key]) for key in sorted(metadata)]
