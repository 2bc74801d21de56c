"""Which plans a message calls off in words: 京都之旅取消了, "our Lisbon trip is cancelled"."""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from itertools import combinations

from ..extraction.assertions import assertions_of
from ..language.keywords import KeywordAnalyzer
from ..language.questions import speaks_of_self
from ..values.facts import Fact
from ..values.predicates import DATED, SCHEDULES
from ..values.text import fold_lower
from .persons import clause_at

_CALLED_OFF = re.compile(
    r"(?<!not )(?<!n't )\b(?:been )?(?:cancell?ed|called off|scrapped|not happening|fell through|off(?=\W*$))"
    r"|(?<![没不别])(?<!没有)取消(?!不了)|不办了|作罢|告吹|黄了|泡汤"
)
_GIVEN_UP = re.compile(r"\bno longer\b|(?:\bnot|n't)\b(?=.*\bany ?more\b)")
"""Words by which who says them gives a plan up."""
_ANALYZER = KeywordAnalyzer()


def event_called_off(text: str) -> AbstractSet[str]:
    """The terms of what a message says will not take place; empty where it says so of nothing."""
    folded = fold_lower(text)
    off = _CALLED_OFF.search(folded) or _GIVEN_UP.search(folded)
    if off is None or not assertions_of(text).states(*off.span()):
        return frozenset()
    _, clause = clause_at(folded, off.start())
    if off.re is _GIVEN_UP and not speaks_of_self(clause):
        return frozenset()
    return _ANALYZER.content_terms(off.re.sub(" ", clause))


def plans_of(event: AbstractSet[str], facts: Iterable[Fact]) -> list[Fact]:
    """The plans and dates that an event names; none where it may be one of several.

    Args:
        event: Its terms.
        facts: The active facts of the user.
    """
    plans = [fact for fact in facts if fact.is_planned or fact.predicate in SCHEDULES]
    meant = [fact for fact in plans if _is_part(_terms(fact), event)]
    return meant if all(_is_one_event(*pair) for pair in combinations(meant, 2)) else []


def _terms(fact: Fact) -> AbstractSet[str]:
    return _ANALYZER.content_terms(fact.subject if fact.predicate in DATED else fact.object)


def _is_part(left: AbstractSet[str], right: AbstractSet[str]) -> bool:
    return bool(left and right) and (left <= right or right <= left)


def _is_one_event(left: Fact, right: Fact) -> bool:
    return left.resource_id == right.resource_id or _is_part(_terms(left), _terms(right))
