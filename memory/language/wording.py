"""Facts as sentences in the user's own language: what summaries and prompts are made of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ..values.facts import SPEAKER, Fact
from ..values.predicates import OTHER
from ..values.text import has_han, normalise, to_simplified
from ..values.understanding.readings import Qualifier
from .sentence_patterns import PATTERNS
from .written import Language, written_language

MAX_OBJECTS = 8
"""So many objects of one subject and predicate are named in a sentence; the rest are counted."""


_SPEAKERS = {
    Language.TRADITIONAL_CHINESE: "使用者",
    Language.SIMPLIFIED_CHINESE: "用户",
    Language.ENGLISH: "The user",
}


_FIRST_PERSON = (
    ("使用者", "我"),
    ("用户", "我"),
    ("The user's ", "My "),
    ("The user is ", "I am "),
    ("The user has ", "I have "),
    ("The user ", "I "),
)
"""How sentences about the speaker begin, and how the speaker would begin them."""

_LABELS: Mapping[str, tuple[str, str]] = {
    "doubtful": ("In doubt since something changed: ", "情況有變，尚待確認："),
    Qualifier.NEGATED: ("Not so: ", "並非："),
    Qualifier.PLANNED: ("Planned: ", "打算："),
    Qualifier.PAST: ("In the past: ", "過去："),
    Qualifier.ENDED: ("Over: ", "已結束："),
    Qualifier.HEDGED: ("Perhaps: ", "可能："),
}
"""What is said before a statement that does not simply hold, in English and in Traditional Chinese."""


@dataclass(frozen=True)
class Statement:
    """What is known of one subject by one predicate.

    Attributes:
        facts: With the same subject, predicate and labels, earliest recorded first, no object twice.
    """

    facts: tuple[Fact, ...]

    @property
    def weight(self) -> float:
        """The confidence of its surest fact."""
        return max(fact.confidence for fact in self.facts)

    def sentence(self, language: Language) -> str:
        """One sentence; of many objects it names the `MAX_OBJECTS` latest recorded and counts the rest."""
        if (own := own_words(self.facts[0])) is not None:
            return self._label(language) + _ended(own, "." if language is Language.ENGLISH else "。")
        named = [_one_line(fact.object) for fact in self.facts[-MAX_OBJECTS:]]
        sentence = _sentence(self.facts[0].subject, self.facts[0].predicate, named, len(self.facts), language)
        return self._label(language) + sentence

    def opening(self, language: Language) -> str:
        """How its sentence begins, whatever objects it names."""
        if (own := own_words(self.facts[0])) is not None:
            return self._label(language) + own
        sentence = _sentence(self.facts[0].subject, self.facts[0].predicate, ["\0"], 1, language)
        return self._label(language) + sentence.partition("\0")[0]

    def _label(self, language: Language) -> str:
        written = [_LABELS[label] for label in labels_of(self.facts[0])]
        if language is Language.ENGLISH:
            return "".join(english for english, _ in written)
        label = "".join(chinese for _, chinese in written)
        return to_simplified(label) if language is Language.SIMPLIFIED_CHINESE else label


def first_person(text: str) -> tuple[str, int]:
    """How the user would begin a sentence that begins with `_SPEAKERS`, and where it goes on; ("", 0) for any other."""
    return next(((own, len(name)) for name, own in _FIRST_PERSON if text.startswith(name)), ("", 0))


def own_words(fact: Fact) -> str | None:
    """The words in which a fact was given (001 §2.1 `content`); with its predicate where they are only its object."""
    content = fact.details.content if fact.details else None
    if content is None:
        return None
    text = _one_line(content)
    return text if text != _one_line(fact.object) else f"{_one_line(fact.predicate).replace('_', ' ')}: {text}"


def labels_of(fact: Fact) -> tuple[str, ...]:
    """Why a fact does not simply hold: in doubt, negated, planned, …; empty where it does."""
    doubtful = ("doubtful",) if fact.doubtful_since is not None else ()
    return (*doubtful, *(label for label in _LABELS if label in fact.qualifiers))


def statements_of(facts: Iterable[Fact]) -> list[Statement]:
    """Facts by subject, predicate and labels, in the order in which the first of each was recorded.

    One that was given in words of its own stands alone.
    """
    groups: dict[tuple[str, ...], dict[str, Fact]] = {}
    for fact in sorted(facts, key=lambda fact: (fact.recorded_at, fact.fact_id)):
        key = (normalise(fact.subject), normalise(fact.predicate), *labels_of(fact), own_words(fact) or "")
        group = groups.setdefault(key, {})
        known = group.get(normalise(fact.object))
        if known is None or known.confidence < fact.confidence:
            group[normalise(fact.object)] = fact
    return [Statement(tuple(group.values())) for group in groups.values()]


def fact_sentence(fact: Fact, language: Language) -> str:
    """One fact as a sentence."""
    return Statement((fact,)).sentence(language)


def fact_text(fact: Fact) -> str:
    """What a fact is found by: the words in which it was given; else English and Chinese sentences, so that a query in
    either language finds its predicate.
    """
    if fact.details is not None and fact.details.content is not None:
        return fact.details.content
    return " ".join(fact_sentence(fact, language) for language in (Language.ENGLISH, Language.TRADITIONAL_CHINESE))


def language_of(facts: Iterable[Fact]) -> Language:
    """The user's own language: the one that most of these facts are in."""
    return written_language(f"{fact.subject} {fact.object}" for fact in facts)


def _sentence(subject: str, predicate: str, objects: Sequence[str], total: int, language: Language) -> str:
    name = _SPEAKERS[language] if normalise(subject) == SPEAKER else _one_line(subject)
    values = _enumerated(objects, total, language)
    english, chinese = PATTERNS.get(predicate) or _pattern_of_words(predicate)
    if language is Language.ENGLISH:
        return _ended(english.format(name, values), ".")
    pattern = to_simplified(chinese) if language is Language.SIMPLIFIED_CHINESE else chinese
    return _ended(pattern.format(name, values), "。")


@cache
def _pattern_of_words(predicate: str) -> tuple[str, str]:
    """The patterns of a predicate that is not in the table: its own words, as `other:wears` or 收集."""
    words = _one_line(predicate.removeprefix(f"{OTHER}:")).replace("{", "{{").replace("}", "}}")
    if words == OTHER or not words:
        return "{}: {}", "{}：{}"
    spaced = f"{{}} {words.replace('_', ' ')} {{}}"
    return spaced, f"{{}}{words}{{}}" if has_han(words) else spaced


def _enumerated(objects: Sequence[str], total: int, language: Language) -> str:
    hidden = total - len(objects)
    if language is not Language.ENGLISH:
        counted = f"等{total}項" if language is Language.TRADITIONAL_CHINESE else f"等{total}项"
        return "、".join(objects) + (counted if hidden else "")
    if hidden:
        return f"{', '.join(objects)} and {hidden} more"
    return " and ".join(part for part in (", ".join(objects[:-1]), objects[-1]) if part)


def _ended(sentence: str, mark: str) -> str:
    return sentence if sentence.endswith((".", "。", "!", "！", "?", "？")) else sentence + mark


def _one_line(text: str) -> str:
    """Without line breaks: a fact must not look like a heading of the context that it stands in."""
    return " ".join(text.split())
