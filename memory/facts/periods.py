"""The periods of validity of facts, and the facts that hold at a time (002 §1.1)."""

from collections.abc import Iterable
from datetime import datetime

from ..values.facts import Fact
from ..values.periods import Period
from ..values.predicates import ONE_VALUED
from ..values.text import normalise


def period_of(fact: Fact) -> Period:
    """The period of validity of a fact."""
    return Period(fact.valid_from, fact.valid_to)


def facts_at(facts: Iterable[Fact], at: datetime) -> list[Fact]:
    """The facts that hold at a time, in their order.

    Of a one-valued predicate only the latest said: what was said last about that time is believed.
    """
    holding = [fact for fact in facts if fact.holds(at)]
    latest: dict[tuple[str, str], Fact] = {}
    for fact in sorted(holding, key=lambda fact: fact.recorded_at):
        if fact.predicate in ONE_VALUED and not fact.is_negated and not fact.conflicts_with:
            latest[normalise(fact.subject), fact.predicate] = fact
    believed = {fact.fact_id for fact in latest.values()}
    return [
        fact
        for fact in holding
        if fact.fact_id in believed or fact.predicate not in ONE_VALUED or fact.is_negated or fact.conflicts_with
    ]
