"""The types of the well-known names in the word lists."""

from functools import cache

from ..values.mentions import EntitySubtype
from . import han_words, latin_words


@cache
def known_types() -> dict[str, EntitySubtype]:
    """Well-known names with their types; those of which persons are called too (Jordan) are left out."""
    places = dict.fromkeys(han_words.PLACES | latin_words.PLACES, EntitySubtype.PLACE)
    organisations = dict.fromkeys(han_words.ORGANISATIONS | latin_words.ORGANISATIONS, EntitySubtype.ORGANISATION)
    products = dict.fromkeys(han_words.PRODUCTS, EntitySubtype.PRODUCT)
    works = dict.fromkeys(han_words.WORKS, EntitySubtype.WORK)
    events = dict.fromkeys(han_words.EVENTS, EntitySubtype.EVENT)
    listed = places | organisations | products | works | events
    return {name: subtype for name, subtype in listed.items() if name not in latin_words.GIVEN_NAMES}
