"""Chinese words that the name rules know: lists in `data/han`, in Simplified characters."""

from .word_lists import words

SURNAMES = words("han/surnames")
FUNCTION_SURNAMES = words("han/function_surnames")
COMPOUND_SURNAMES = words("han/compound_surnames")
PERSON_TITLES = words("han/person_titles")
TRANSLITERATION = words("han/transliteration")
STOP_NAMES = words("han/stop_names")
TIME_WORDS = words("han/time_words")
PLACES = words("han/places")
ORGANISATIONS = words("han/organisations")
PRODUCTS = words("han/products")
WORKS = words("han/works")
EVENTS = words("han/events")
ORGANISATION_SUFFIXES = words("han/organisation_suffixes")
DEPARTMENTS = words("han/departments")
PLACE_SUFFIXES = words("han/place_suffixes")
KIND_ENDS = words("han/kind_ends")
NOT_INTRODUCED = words("han/not_introduced")

EXTENDING = frozenset({"n", "nr", "ns", "nt", "nz", "nrt", "nrfg", "j", "eng", "vn", "b", "f", "s", "ng", "an", "x"})
"""jieba's tags of words that may stand between a proper name and its suffix."""
PROPER = frozenset({"nr", "ns", "nt", "nz", "nrt", "nrfg"})
"""jieba's tags of proper names."""
