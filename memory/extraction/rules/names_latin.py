"""Latin names: capitalised names in English, and Latin names inside Chinese text."""

import re
from collections.abc import Callable, Iterator, Sequence

from ...language import latin_words as lists
from ...language.latin_tokens import LatinToken
from ...language.sentences import Sentence, Sentences
from ...values.mentions import EntitySubtype
from ...values.text import has_han
from .candidates import Candidate, Layer

_MOST_WORDS = 6
_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]$")
_PLURAL = re.compile(r"[A-Z]{2,4}s")
"""Plurals of abbreviations: CDs, PCs."""
_DOTTED_ENDINGS = (".js", ".net", ".io", ".ai", ".py")


def find_latin_names(folded: str, tokens: Sequence[LatinToken], sentences: Sentences) -> Iterator[Candidate]:
    """Finds names written in Latin letters.

    In a sentence with Chinese in it, capitalised, hyphenated and mixed-case words are names (`HCI`, `mm-agent`)
    unless they are common abbreviations. In English, a run of capitalised words is a name, with `of`, `de` and
    initials inside it. The first word of a sentence is a name only with other evidence, such as a known given name. In
    a sentence written in capitals only known names count. Titles (`Dr.`, `Mr.`) and a closing 's are left out.
    """
    seen_inside: set[str] = set()
    groups = list(_by_sentence(tokens, sentences))
    for _, group in groups:
        inside = [token for index, token in enumerate(group) if index and not _opens_clause(folded, token.start)]
        if not _is_mostly_capitals(group):
            seen_inside.update(token.text for token in inside if token.text[0].isupper())
    for sentence, group in groups:
        if has_han(folded[sentence.start : sentence.end]):
            yield from _find_in_chinese(folded, group)
        else:
            yield from _find_in_english(folded, group, seen_inside)


def _by_sentence(tokens: Sequence[LatinToken], sentences: Sentences) -> Iterator[tuple[Sentence, list[LatinToken]]]:
    group: list[LatinToken] = []
    for token in tokens:
        if group and token.start >= sentences.at(group[0].start).end and not _abbreviates(group[-1]):
            yield sentences.at(group[0].start), group
            group = []
        group.append(token)
    if group:
        yield sentences.at(group[0].start), group


def _abbreviates(token: LatinToken) -> bool:
    """Whether a full stop after the word belongs to it and ends no sentence: J. K. Rowling, Dr. Smith."""
    text = token.text
    return bool(_INITIALS.match(text) and text != "I") or text.lower() in lists.TITLES


def _is_mostly_capitals(group: Sequence[LatinToken]) -> bool:
    letters = [token for token in group if len(token.text) > 1 and token.has_letter]
    return len(letters) > 2 and sum(token.text.isupper() for token in letters) > len(letters) / 2


def _opens_clause(folded: str, start: int) -> bool:
    before = folded[max(0, start - 3) : start].rstrip()
    return not before or before[-1] in '.!?:;"“”「『(—-•*>\n'


def _find_in_chinese(folded: str, group: Sequence[LatinToken]) -> Iterator[Candidate]:
    for first, last in _find_runs(folded, group, _is_name_in_chinese):
        run = group[first : last + 1]
        text = folded[run[0].start : run[-1].end]
        if len(text) > 1:
            confidence = 0.6 if text.islower() else 0.85
            yield Candidate(
                run[0].start, run[-1].end, Layer.LATIN, "latin.in_chinese", confidence, _subtype(run, text, "")
            )


def _is_name_in_chinese(token: LatinToken) -> bool:
    lower = token.text.lower()
    if lower in lists.COMMON or lower in lists.GENERIC or not token.has_letter or token.has_digit:
        return False
    return any(character.isupper() for character in token.text) or ("-" in token.text and len(token.text) > 3)


def _find_in_english(folded: str, group: Sequence[LatinToken], seen_inside: set[str]) -> Iterator[Candidate]:
    for first, last in _find_runs(folded, group, _is_known_name if _is_mostly_capitals(group) else _is_capitalised):
        run = group[first : last + 1]
        before = group[first - 1].text.lower() if first else ""
        after = group[last + 1].text.lower() if last + 1 < len(group) else ""
        text = folded[run[0].start : run[-1].end]
        subtype = _subtype(run, text, before)
        confidence = _confidence(run, _opens_clause(folded, run[0].start), after, subtype, run[0].text in seen_inside)
        if confidence and len(text) > 1:
            yield Candidate(run[0].start, run[-1].end, Layer.LATIN, "latin.capitalised", confidence, subtype)


def _confidence(
    run: Sequence[LatinToken], opens: bool, after: str, subtype: EntitySubtype | None, seen_inside: bool
) -> float:
    """The confidence that a capitalised run is a name; 0 for generic and for plain opening words."""
    text = run[0].text
    if len(run) == 1 and text.lower() in lists.GENERIC:
        return 0.0
    if len(run) > 1 or not opens:
        return 0.8 if subtype else 0.75
    if subtype or seen_inside or text[1:] != text[1:].lower():
        return 0.75
    if after in lists.VERBS_OF_PEOPLE:
        return 0.6
    return 0.5 if after in lists.VERBS_AFTER_NAMES and not text.lower().endswith(lists.COMMON_ENDINGS) else 0.0


def _is_capitalised(token: LatinToken) -> bool:
    text = token.text
    if text.lower() in lists.COMMON or text.lower() in lists.TITLES or not token.has_letter or "/" in text:
        return False
    if "." in text and not (_INITIALS.match(text) or text.lower().endswith(_DOTTED_ENDINGS)):
        return False  # a file name, or a full stop without its space
    if text[0].isupper():
        return text != "I" and not _PLURAL.fullmatch(text)
    return text[0].islower() and any(character.isupper() for character in text[1:])  # iPhone, eBay


def _is_known_name(token: LatinToken) -> bool:
    lower = token.text.lower()
    return lower in lists.PLACES or lower in lists.ORGANISATIONS or lower in lists.GIVEN_NAMES


def _find_runs(
    folded: str, group: Sequence[LatinToken], is_name: Callable[[LatinToken], bool]
) -> Iterator[tuple[int, int]]:
    """Maximal runs of name-like tokens, with connectors and initials inside: indexes of the first and last token."""
    first = last = -1
    connectors: list[LatinToken] = []
    named = [is_name(token) for token in group]
    for index in range(len(group) - 2, -1, -1):  # New York, Great Britain: the first word alone is no name
        token = group[index]
        if named[index + 1] and token.text.lower() in lists.PREFIXES and token.text[0].isupper():
            named[index] = _joins(folded, token, group[index + 1])
    for index, token in enumerate(group):
        joined = first >= 0 and _joins(folded, group[index - 1], token)
        if named[index]:
            if first >= 0 and (not joined or index - first >= _MOST_WORDS):
                yield first, last
                first = -1
            first, last = (first if first >= 0 else index), index
            connectors = []
        elif joined and len(connectors) < 2 and _connects(token, group[last], connectors):
            connectors.append(token)
        elif first >= 0:
            yield first, last
            first, connectors = -1, []
    if first >= 0:
        yield first, last


def _joins(folded: str, left: LatinToken, right: LatinToken) -> bool:
    gap = folded[left.end : right.start]
    return (
        gap in (" ", " & ")
        or (gap in (". ", ".") and _abbreviates(left))
        or (gap == "' " and left.text in ("N", "n"))  # Guns N' Roses
        or (gap == ", " and right.text.lower() in lists.LEGAL_FORMS)
    )


def _connects(token: LatinToken, left: LatinToken, connectors: Sequence[LatinToken]) -> bool:
    lower = token.text.lower()
    if lower == "of":
        return left.text.lower() in lists.BEFORE_OF and not connectors
    if lower == "the":
        return bool(connectors) and connectors[-1].text.lower() == "of"
    return lower in lists.CONNECTORS and token.text.islower()


def _subtype(run: Sequence[LatinToken], text: str, before: str) -> EntitySubtype | None:
    lowered = [token.text.lower() for token in run]
    whole = " ".join(lowered)
    if whole in lists.PLACES:
        return EntitySubtype.PLACE
    if whole in lists.ORGANISATIONS or (len(run) > 1 and ({lowered[0], lowered[-1]} & lists.ORGANISATION_HEADS)):
        return EntitySubtype.ORGANISATION
    if " & " in text:
        return EntitySubtype.ORGANISATION
    if len(run) > 1 and lowered[-1] in lists.PLACE_HEADS:
        return EntitySubtype.PLACE
    if before in lists.TITLES or lowered[0] in lists.GIVEN_NAMES or _has_initial(run):
        return EntitySubtype.PERSON
    if len(run) > 1 and len(run[-1].text) == 1:
        return EntitySubtype.PRODUCT  # Model Y: an initial does not come last
    if _looks_like_a_person(run, before):
        return EntitySubtype.PERSON
    if any(token.has_digit or _is_compound(token.text) or _is_camel(token.text) for token in run):
        return EntitySubtype.PRODUCT if len(run) == 1 else None
    if before in lists.AFTER_PLACE_CUES and before != "to" and not text.isupper():
        return EntitySubtype.PLACE
    return None


def _is_compound(text: str) -> bool:
    """Whether it is a hyphenated name (AI-Box) and not a hyphenated word (Breath-taking)."""
    _, hyphen, rest = text.partition("-")
    return bool(hyphen) and any(character.isupper() or character.isdigit() for character in rest)


def _has_initial(run: Sequence[LatinToken]) -> bool:
    return any(len(token.text) == 1 for token in run[:-1])


def _looks_like_a_person(run: Sequence[LatinToken], before: str) -> bool:
    """Whether it is two plain words, neither of them an English word (unlike Golden Wok, Little Seoul)."""
    if len(run) != 2 or before == "the" or not all(_is_plain(token.text) for token in run):
        return False
    return not any(token.text.lower() in lists.IN_NAMES_OF_THINGS | lists.PREFIXES | lists.PLACES for token in run)


def _is_plain(text: str) -> bool:
    return text.isalpha() and len(text) > 1 and text.istitle()


def _is_camel(text: str) -> bool:
    return text.isalnum() and text[1:] != text[1:].lower() and not text.isupper() and not text.startswith(("Mc", "Mac"))
