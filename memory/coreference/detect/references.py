"""A reference, its agreement features and its form."""

from dataclasses import dataclass
from enum import StrEnum

from ...values.mentions import EntitySubtype


class Kind(StrEnum):
    """The kind of a referring expression."""

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
    """How an antecedent is substituted: unchanged, with `'s` or 的, or with a preposition (for English `there`)."""

    PLAIN = "plain"
    POSSESSIVE = "possessive"
    LOCATIVE = "locative"


@dataclass(frozen=True, slots=True)
class Reference:
    """A referring expression of a text, or a gap.

    Attributes:
        start: Code-point offset in the original text.
        end: End of the span, exclusive.
        text: `text[start:end]` of that text.
        kind: Kind of the expression.
        number: Singular or plural; None where the expression shows neither (`其`, `上次說的`).
        person: True for a person, False for a thing, None where either fits.
        gender: Set by he/she and by nouns such as 先生.
        subtypes: Types that the antecedent may have; empty for any.
        noun: Folded head noun of a noun phrase, empty for a pronoun.
        across: Whether it refers to an earlier session (上次說的, "from last week").
        count: Number of antecedents of a plural, 0 where unknown.
        form: How the antecedent is substituted.
        quiet: Whether it is a weak signal (a definite noun phrase, a bare 這), not reported where nothing fits well.
        chinese: Whether the expression is Chinese.
        called: Folded noun, known to the lexicon or not, of a reference to an earlier session: 律師, "dentist".
        about: Description of the antecedent as written: 做備份的 in 上次說的那個做備份的系統.
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
