"""The agreement of pronouns, nouns and measure words with their antecedents; Chinese in Simplified characters."""

from dataclasses import dataclass

from ...language.word_lists import entries, words
from ...values.mentions import EntitySubtype
from .references import Gender, Number

_PERSON = EntitySubtype.PERSON
_ORGANISATION = EntitySubtype.ORGANISATION
_PLACE = EntitySubtype.PLACE
_PRODUCT = EntitySubtype.PRODUCT
_WORK = EntitySubtype.WORK
_EVENT = EntitySubtype.EVENT


@dataclass(frozen=True, slots=True)
class Pronoun:
    """The agreement features of a pronoun; `person` None fits people and things."""

    number: Number
    person: bool | None = None
    gender: Gender | None = None
    possessive: bool = False


@dataclass(frozen=True, slots=True)
class Noun:
    """The types and gender that a head noun implies."""

    subtypes: frozenset[EntitySubtype]
    gender: Gender | None = None


def word_list(name: str) -> frozenset[str]:
    """The word list of this name in `memory/coreference/data`."""
    return words(name, "memory.coreference")


CHINESE_PRONOUNS = {
    "它": Pronoun(Number.SINGULAR, person=False),
    "牠": Pronoun(Number.SINGULAR, person=False),
    "祂": Pronoun(Number.SINGULAR),
    "他": Pronoun(Number.SINGULAR, person=True),  # also written for women and for "whoever"
    "她": Pronoun(Number.SINGULAR, person=True, gender=Gender.FEMALE),
    "它们": Pronoun(Number.PLURAL, person=False),
    "牠们": Pronoun(Number.PLURAL, person=False),
    "祂们": Pronoun(Number.PLURAL),
    "他们": Pronoun(Number.PLURAL, person=True),
    "她们": Pronoun(Number.PLURAL, person=True, gender=Gender.FEMALE),
}

ENGLISH_PRONOUNS = {
    "it": Pronoun(Number.SINGULAR, person=False),
    "its": Pronoun(Number.SINGULAR, person=False, possessive=True),
    "he": Pronoun(Number.SINGULAR, person=True, gender=Gender.MALE),
    "him": Pronoun(Number.SINGULAR, person=True, gender=Gender.MALE),
    "his": Pronoun(Number.SINGULAR, person=True, gender=Gender.MALE, possessive=True),
    "she": Pronoun(Number.SINGULAR, person=True, gender=Gender.FEMALE),
    "her": Pronoun(Number.SINGULAR, person=True, gender=Gender.FEMALE),
    "hers": Pronoun(Number.SINGULAR, person=True, gender=Gender.FEMALE, possessive=True),
    "they": Pronoun(Number.PLURAL),
    "them": Pronoun(Number.PLURAL),
    "their": Pronoun(Number.PLURAL, possessive=True),
    "theirs": Pronoun(Number.PLURAL, possessive=True),
}


def _nouns() -> dict[str, Noun]:
    typed = (entry.split("\t") for entry in entries("nouns", "memory.coreference"))
    nouns = {noun: Noun(frozenset(map(EntitySubtype, subtypes.split()))) for noun, subtypes in typed}
    for gender in Gender:
        nouns |= {noun: Noun(frozenset({_PERSON}), gender) for noun in word_list(f"nouns_{gender}")}
    return nouns


NOUNS = _nouns()
"""Head nouns that imply a type, in both languages, singular."""

TITLES = {
    "先生": Gender.MALE, "小姐": Gender.FEMALE, "女士": Gender.FEMALE, "太太": Gender.FEMALE, "夫人": Gender.FEMALE,
    "mr": Gender.MALE, "mister": Gender.MALE, "sir": Gender.MALE,
    "mrs": Gender.FEMALE, "ms": Gender.FEMALE, "miss": Gender.FEMALE, "madam": Gender.FEMALE, "lady": Gender.FEMALE,
}  # fmt: skip
"""Titles beside a name that show the gender of the person; folded, no full stop."""

GIVEN_NAMES = {name: gender for gender in Gender for name in word_list(f"given_names_{gender}")}
"""Lower-case English given names that nearly always show a gender."""

CLASSIFIERS: dict[str, frozenset[EntitySubtype]] = {
    "个": frozenset(), "种": frozenset(), "只": frozenset(), "条": frozenset(), "件": frozenset(), "项": frozenset(),
    "张": frozenset(), "份": frozenset(), "把": frozenset(), "支": frozenset({_PRODUCT, _WORK}),
    "套": frozenset({_PRODUCT, _WORK}), "部": frozenset({_PRODUCT, _WORK}), "间": frozenset({_ORGANISATION, _PLACE}),
    "家": frozenset({_ORGANISATION, _PLACE}), "所": frozenset({_ORGANISATION, _PLACE}),
    "台": frozenset({_PRODUCT}), "款": frozenset({_PRODUCT, _WORK}), "辆": frozenset({_PRODUCT}),
    "架": frozenset({_PRODUCT}), "本": frozenset({_WORK}), "首": frozenset({_WORK}), "篇": frozenset({_WORK}),
    "集": frozenset({_WORK}), "位": frozenset({_PERSON}), "名": frozenset({_PERSON}), "座": frozenset({_PLACE}),
    "场": frozenset({_EVENT}),
}  # fmt: skip
"""Measure words and the types that they count; an empty set counts anything."""

GENERIC_PERSONS = word_list("generic_persons")
VAGUE = word_list("vague_nouns")
ATTRIBUTES = word_list("attributes")
OF_THINGS = word_list("attributes_of_things")
TIME_WORDS = word_list("time_words_english")
