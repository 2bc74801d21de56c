"""What documents in ArangoDB are made of: keys and comparable strings.

ArangoDB compares strings by the rules of a language, in its indexes too: two that differ only in how an accent is
composed are equal there, and their order is not that of code points. What is compared in a statement is therefore
ASCII, and what the value was is read from `body`, the JSON text of the value itself, which is exact where ArangoDB's
numbers are not.
"""

import hashlib
import json
from typing import Any
from urllib.parse import quote, unquote

Document = dict[str, Any]

_KEY_BYTES = 20
_PLAIN = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


def key_of(user_id: str, *parts: str) -> str:
    """The document key of something of a user: 40 characters, since keys take no slash, no CJK, at most 254 bytes."""
    text = json.dumps((user_id, *parts))  # a list, so that no separator can occur in a part
    return hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).hexdigest()


def ascii_of(text: str) -> str:
    """The text in ASCII: itself where it is, percent-encoded where it is not; different for different texts."""
    return quote(text, safe=_PLAIN, errors="surrogatepass")


def text_of(encoded: str) -> str:
    """The text that `ascii_of` encoded."""
    return unquote(encoded, errors="surrogatepass")


def order_of(text: str) -> str:
    """A string that is sorted, by any rules, as the text is by code points."""
    return text.encode("utf-8", "surrogatepass").hex()


def text_in_order(encoded: str) -> str:
    """The text that `order_of` encoded."""
    return bytes.fromhex(encoded).decode("utf-8", "surrogatepass")
