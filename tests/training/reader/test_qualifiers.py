"""The head that says how facts hold: what it learns from, and what is measured of it."""

import pytest
import torch

from memory.values.understanding.readings import Qualifier
from models.body.network_parts import MultiScoreHead
from models.reader.decisions import Thresholds
from training.reader.qualifiers import FactRow, measure, train

HIDDEN = 24


def row(group: str, *marked: Qualifier, seed: int) -> FactRow:
    """A fact whose states say how it holds."""
    labels = torch.tensor([float(qualifier in marked) for qualifier in Qualifier])
    states = torch.randn(4 * HIDDEN, generator=torch.Generator().manual_seed(seed)) * 0.1
    states[: len(labels)] += 5 * labels
    return FactRow("en", (group,), states, labels)


def facts(count: int, *, first: int = 0) -> list[FactRow]:
    return [
        made
        for number in range(first, first + count)
        for made in (
            row(f"change {number}", Qualifier.PAST, seed=4 * number),
            row(f"change {number}", seed=4 * number + 1),
            row(f"beside {number}", Qualifier.PLANNED, seed=4 * number + 2),
            row(f"beside {number}", seed=4 * number + 3),
        )
    ]


def head_that_reads(strength: float) -> MultiScoreHead:
    """A head that finds what `row` writes into the states."""
    head = MultiScoreHead(4 * HIDDEN, states=1, width=len(Qualifier), scores=len(Qualifier)).eval()
    with torch.no_grad():
        head.hidden.weight.copy_(torch.eye(len(Qualifier), 4 * HIDDEN))
        head.hidden.bias.zero_()
        head.score.weight.copy_(strength * torch.eye(len(Qualifier)))
        head.score.bias.fill_(-9.0)
    return head


@pytest.mark.parametrize(("strength", "found"), [(4.0, 100.0), (0.0, 0.0)])
def test_what_is_over_is_counted_by_facts_and_by_messages_that_state_several(strength: float, found: float) -> None:
    figures = measure(head_that_reads(strength), facts(5), Thresholds())
    assert figures["all"] == figures["en"]
    assert (figures["en"]["facts"], figures["en"]["over"], figures["en"]["several hold"]) == (20, 5, 100)
    for name in ("over, F1", "one of several over", "planned, F1"):
        assert figures["en"][name] == found, name


def test_a_head_learns_how_facts_hold() -> None:
    marked = facts(300)
    scores = train(marked)(torch.stack([fact.states for fact in marked]))
    for number, name in enumerate(Qualifier):
        if name in (Qualifier.PAST, Qualifier.PLANNED):
            is_marked = torch.tensor([name in fact.marked for fact in marked])
            assert scores[is_marked, number].mean() > scores[~is_marked, number].mean() + 0.5
