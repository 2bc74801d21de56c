"""Of whom a text speaks: the one who says it, or the one who is addressed."""

import re

_FIRST_PERSON = re.compile(r"我|\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"[你您妳]|\b(?:you|your|yours|yourself)\b", re.IGNORECASE)


def speaks_of_self(text: str) -> bool:
    """Whether the text speaks of who says it."""
    return bool(_FIRST_PERSON.search(text))


def speaks_of_hearer(text: str) -> bool:
    """Whether the text speaks of who is addressed."""
    return bool(_SECOND_PERSON.search(text))
