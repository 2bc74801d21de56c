"""Latin names: capitalised names in English, and Latin names inside Chinese text."""

import re
from collections.abc import Callable, Iterator, Sequence

from ...language import latin_words as known
from ...language.latin_tokens import LatinToken
from ...language.sentences import Sentence, Sentences
from ...values.mentions import EntitySubtype
from ...values.text import has_han
from .candidates import Candidate, Layer

_MOST_WORDS = 6
_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]$")
_PLURAL = re.compile(r"[A-Z]{2,4}s")
"""Abbreviations of which there are several: CDs, PCs."""
_POINTED = (".js", ".net", ".io", ".ai", ".py")


def find_latin_names(folded: str, tokens: Sequence[LatinToken], sentences: Sentences) -> Iterator[Candidate]:
    """Finds names written in Latin letters.

    In a sentence with Chinese in it, capitalised, hyphenated and mixed-case words are names (`HCI`, `mm-agent`)
    unless they are common abbreviations. In English, a run of capitalised words is a name, with `of`, `de` and
    initials inside it; the first word of a sentence counts only where something besides its place speaks for it;
    sentences in capitals say nothing by their capitals. Titles (`Dr.`, `Mr.`) and a closing 's are left out.
    """
    seen_inside: set[str] = set()
    groups = list(_by_sentence(tokens, sentences))
    for _, group in groups:
        inside = [token for place, token in enumerate(group) if place and not _opens_clause(folded, token.start)]
        if not _shouts(group):
            seen_inside.update(token.text for token in inside if token.text[0].isupper())
    for sentence, group in groups:
        if has_han(folded[sentence.start : sentence.end]):
            yield from _in_chinese(folded, group)
        else:
            yield from _in_english(folded, group, seen_inside)


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
    """Whether a full stop behind the word belongs to it: J. K. Rowling, Dr. Smith, Inc. — not the end of a sentence."""
    text = token.text
    return bool(_INITIALS.match(text) and text != "I") or text.lower() in known.TITLES


def _shouts(group: Sequence[LatinToken]) -> bool:
    letters = [token for token in group if len(token.text) > 1 and token.has_letter]
    return len(letters) > 2 and sum(token.text.isupper() for token in letters) > len(letters) / 2


def _opens_clause(folded: str, start: int) -> bool:
    before = folded[max(0, start - 3) : start].rstrip()
    return not before or before[-1] in '.!?:;"“”「『(—-•*>\n'


def _in_chinese(folded: str, group: Sequence[LatinToken]) -> Iterator[Candidate]:
    for first, last in _runs(folded, group, _names_in_chinese):
        run = group[first : last + 1]
        text = folded[run[0].start : run[-1].end]
        if len(text) > 1:
            confidence = 0.6 if text.islower() else 0.85
            yield Candidate(
                run[0].start, run[-1].end, Layer.LATIN, "latin.in_chinese", confidence, _subtype(run, text, "")
            )


def _names_in_chinese(token: LatinToken) -> bool:
    lower = token.text.lower()
    if lower in known.COMMON or lower in known.GENERIC or not token.has_letter or token.has_digit:
        return False
    return any(character.isupper() for character in token.text) or ("-" in token.text and len(token.text) > 3)


def _in_english(folded: str, group: Sequence[LatinToken], seen_inside: set[str]) -> Iterator[Candidate]:
    for first, last in _runs(folded, group, _is_shouted_name if _shouts(group) else _is_capitalised):
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
    """How sure a capitalised run is a name; 0 where nothing but the place in the sentence made it capitalised."""
    text = run[0].text
    if len(run) == 1 and text.lower() in known.GENERIC:
        return 0.0
    if len(run) > 1 or not opens:
        return 0.8 if subtype else 0.75
    if subtype or seen_inside or text[1:] != text[1:].lower():
        return 0.75
    if after in known.VERBS_OF_PEOPLE:
        return 0.6
    return 0.5 if after in known.VERBS_AFTER_NAMES and not text.lower().endswith(known.COMMON_ENDINGS) else 0.0


def _is_capitalised(token: LatinToken) -> bool:
    text = token.text
    if text.lower() in known.COMMON or text.lower() in known.TITLES or not token.has_letter or "/" in text:
        return False
    if "." in text and not (_INITIALS.match(text) or text.lower().endswith(_POINTED)):
        return False  # a file name, or a full stop without its space
    if text[0].isupper():
        return text != "I" and not _PLURAL.fullmatch(text)
    return text[0].islower() and any(character.isupper() for character in text[1:])  # iPhone, eBay


def _is_shouted_name(token: LatinToken) -> bool:
    lower = token.text.lower()
    return lower in known.PLACES or lower in known.ORGANISATIONS or lower in known.GIVEN_NAMES


def _runs(folded: str, group: Sequence[LatinToken], is_name: Callable[[LatinToken], bool]) -> Iterator[tuple[int, int]]:
    """Maximal runs of name-like tokens, with connectors and initials inside: places of the first and last token."""
    first = last = -1
    held: list[LatinToken] = []
    named = [is_name(token) for token in group]
    for place in range(len(group) - 2, -1, -1):  # New York, Great Britain: the first word alone is no name
        token = group[place]
        if named[place + 1] and token.text.lower() in known.PREFIXES and token.text[0].isupper():
            named[place] = _joins(folded, token, group[place + 1])
    for place, token in enumerate(group):
        joined = first >= 0 and _joins(folded, group[place - 1], token)
        if named[place]:
            if first >= 0 and (not joined or place - first >= _MOST_WORDS):
                yield first, last
                first = -1
            first, last = (first if first >= 0 else place), place
            held = []
        elif joined and len(held) < 2 and _connects(token, group[last], held):
            held.append(token)
        elif first >= 0:
            yield first, last
            first, held = -1, []
    if first >= 0:
        yield first, last


def _joins(folded: str, left: LatinToken, right: LatinToken) -> bool:
    gap = folded[left.end : right.start]
    return (
        gap in (" ", " & ")
        or (gap in (". ", ".") and _abbreviates(left))
        or (gap == "' " and left.text in ("N", "n"))  # Guns N' Roses
        or (gap == ", " and right.text.lower() in known.LEGAL_FORMS)
    )


def _connects(token: LatinToken, left: LatinToken, held: Sequence[LatinToken]) -> bool:
    lower = token.text.lower()
    if lower == "of":
        return left.text.lower() in known.BEFORE_OF and not held
    if lower == "the":
        return bool(held) and held[-1].text.lower() == "of"
    return lower in known.CONNECTORS and token.text.islower()


def _subtype(run: Sequence[LatinToken], text: str, before: str) -> EntitySubtype | None:
    lowered = [token.text.lower() for token in run]
    whole = " ".join(lowered)
    if whole in known.PLACES:
        return EntitySubtype.PLACE
    if whole in known.ORGANISATIONS or (len(run) > 1 and ({lowered[0], lowered[-1]} & known.ORGANISATION_HEADS)):
        return EntitySubtype.ORGANISATION
    if " & " in text:
        return EntitySubtype.ORGANISATION
    if len(run) > 1 and lowered[-1] in known.PLACE_HEADS:
        return EntitySubtype.PLACE
    if before in known.TITLES or lowered[0] in known.GIVEN_NAMES or _has_initial(run):
        return EntitySubtype.PERSON
    if len(run) > 1 and len(run[-1].text) == 1:
        return EntitySubtype.PRODUCT  # Model Y: an initial does not come last
    if _looks_like_a_person(run, before):
        return EntitySubtype.PERSON
    if any(token.has_digit or _is_compound(token.text) or _is_camel(token.text) for token in run):
        return EntitySubtype.PRODUCT if len(run) == 1 else None
    if before in known.AFTER_PLACE_CUES and before != "to" and not text.isupper():
        return EntitySubtype.PLACE
    return None


def _is_compound(text: str) -> bool:
    """Whether it is a name with a hyphen (AI-Box), and no word with one (Breath-taking)."""
    _, hyphen, rest = text.partition("-")
    return bool(hyphen) and any(character.isupper() or character.isdigit() for character in rest)


def _has_initial(run: Sequence[LatinToken]) -> bool:
    return any(len(token.text) == 1 for token in run[:-1])


def _looks_like_a_person(run: Sequence[LatinToken], before: str) -> bool:
    """Two plain words of which neither is an English word (Golden Wok, Little Seoul)."""
    if len(run) != 2 or before == "the" or not all(_is_plain(token.text) for token in run):
        return False
    return not any(token.text.lower() in known.IN_NAMES_OF_THINGS | known.PREFIXES | known.PLACES for token in run)


def _is_plain(text: str) -> bool:
    return text.isalpha() and len(text) > 1 and text.istitle()


def _is_camel(text: str) -> bool:
    return text.isalnum() and text[1:] != text[1:].lower() and not text.isupper() and not text.startswith(("Mc", "Mac"))
