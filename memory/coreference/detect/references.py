"""The words in which a reference, its agreement and its form are described."""

from dataclasses import dataclass
from enum import StrEnum

from ...values.mentions import EntitySubtype


class Kind(StrEnum):
    """What sort of expression refers."""

    PERSONAL = "personal"
    DEMONSTRATIVE = "demonstrative"
    NOUN_PHRASE = "noun_phrase"
    FORMER = "former"
    LATTER = "latter"
    BOTH = "both"
    RECALL = "recall"
    PLACE = "place"
    TIME = "time"
    ELLIPSIS = "ellipsis"


class Number(StrEnum):
    """Grammatical number."""

    SINGULAR = "singular"
    PLURAL = "plural"


class Gender(StrEnum):
    """Gender, where a title, a kinship word or the pronoun itself shows it."""

    MALE = "male"
    FEMALE = "female"


class Form(StrEnum):
    """How an antecedent takes the place of the reference.

    PLAIN stands as it is; POSSESSIVE adds `'s` or 的; LOCATIVE is an English `there`, which needs a preposition.
    """

    PLAIN = "plain"
    POSSESSIVE = "possessive"
    LOCATIVE = "locative"


@dataclass(frozen=True, slots=True)
class Reference:
    """An expression that refers to something said elsewhere.

    Attributes:
        start: Code-point offset in the text as it was given.
        end: End of the span, exclusive.
        text: `text[start:end]` of that text.
        kind: What sort of expression it is.
        number: Singular or plural; None where the expression shows neither (`其`, `上次說的`).
        person: True for a person, False for a thing, None where either fits.
        gender: Set by he/she and by nouns such as 先生.
        subtypes: What the antecedent may be; empty where the expression does not say.
        noun: Folded head noun of a noun phrase, empty for a pronoun.
        across: Whether it reaches into earlier sessions by what it says (上次說的, "from last week").
        count: How many antecedents a plural asks for, 0 where it does not say.
        form: How it is substituted.
        quiet: A weak signal (a definite noun phrase, a bare 這): left alone, unreported, where nothing fits well.
        chinese: Whether the expression is Chinese.
        called: Folded noun of any sort that it calls the thing, empty where it calls it nothing: 律師, "dentist".
        about: What it tells of the thing, as written: 做備份的 in 上次說的那個做備份的系統.
    """

    start: int
    end: int
    text: str
    kind: Kind
    number: Number | None = Number.SINGULAR
    person: bool | None = None
    gender: Gender | None = None
    subtypes: frozenset[EntitySubtype] = frozenset()
    noun: str = ""
    across: bool = False
    count: int = 0
    form: Form = Form.PLAIN
    quiet: bool = False
    chinese: bool = False
    called: str = ""
    about: str = ""
