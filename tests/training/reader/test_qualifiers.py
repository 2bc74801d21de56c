"""The head that says how facts hold: what it learns from, and what is measured of it."""

import torch

from memory.values.understanding.readings import Qualifier
from models.body.network_parts import ScoresHead
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


def test_a_trained_head_tells_which_of_two_values_is_over() -> None:
    figures = measure(train(facts(1000)), facts(20, first=1000), Thresholds())
    assert figures["all"] == figures["en"]
    assert (figures["en"]["facts"], figures["en"]["over"]) == (80, 20)
    for name in ("one of several over", "planned, F1"):
        assert figures["en"][name] > 90, name


def test_a_head_that_says_nothing_finds_nothing_that_is_over() -> None:
    head = ScoresHead(HIDDEN, states=4, width=HIDDEN, scores=len(Qualifier)).eval()
    with torch.no_grad():
        head.score.weight.zero_()
        head.score.bias.fill_(-9.0)
    figures = measure(head, facts(5), Thresholds())["all"]
    assert (figures["over, F1"], figures["one of several over"], figures["several hold"]) == (0, 0, 100)
