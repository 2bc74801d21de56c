import pytest
import torch
from torch import Tensor, nn
from typing_extensions import override

from memory.values.predicates import PREDICATES
from memory.values.understanding.readings import Qualifier
from models.body.calibration import sigmoid
from models.body.network_parts import MASKED
from models.reader.decisions import Thresholds
from models.reader.fact_decoding import DecodedFact, decide_qualifiers, decode_facts, over_probability
from models.reader.facts_head import FactsHead, FactStates
from models.reader.features import Features
from models.reader.inference import collate
from models.reader.network import NO_SOURCE
from tests.models.reader.toys import HIDDEN, PAD, SHAPE, read

SPAN = SHAPE.facts.span
NEVER = -30.0

Place = tuple[int, int]
"""First and last unit."""

ROW = read("我住板橋", "你住哪")
OBJECT = (5, 6)
"""板橋, counted over context and message."""


class Constant(nn.Module):
    """Gives every row the same scores."""

    def __init__(self, scores: list[float]) -> None:
        super().__init__()
        self.scores = torch.tensor(scores)

    @override
    def forward(self, vectors: Tensor) -> Tensor:
        return self.scores.expand(len(vectors), -1)


class Objects(nn.Module):
    """Scores spans of the message of one row."""

    def __init__(self, marked: dict[Place, float]) -> None:
        super().__init__()
        self.marked = marked

    @override
    def forward(self, states: Tensor, unit_tokens: Tensor, unit_counts: Tensor) -> Tensor:
        scores = torch.full((1, unit_tokens.shape[1], SPAN, 1), NEVER)
        for (first, last), score in self.marked.items():
            scores[0, first, last - first] = score
        return scores


class ScriptedHead(FactsHead):
    """Scores as a test says.

    Args:
        objects: By first and last unit of the message.
        predicates: By name.
        qualifiers: Those that are not named are improbable.
        subjects: By first and last unit of context and message together, or None for the speaker.
        times: Likewise, with None for no time.
    """

    def __init__(
        self,
        objects: dict[Place, float],
        *,
        predicates: dict[str, float] | None = None,
        qualifiers: dict[Qualifier, float] | None = None,
        subjects: dict[Place | None, float] | None = None,
        times: dict[Place | None, float] | None = None,
    ) -> None:
        super().__init__(SHAPE.facts)
        chosen, marked = predicates or {"lives_in": 3.0}, qualifiers or {}
        self.add_module("object_score", Objects(objects))
        self.add_module("predicate_score", Constant([chosen.get(predicate, NEVER) for predicate in PREDICATES]))
        self.add_module("qualifiers", Constant([marked.get(qualifier, NEVER) for qualifier in Qualifier]))
        self._subjects = subjects or {None: 5.0}
        self._times = times or {None: 5.0}

    @override
    def subject_scores(self, facts: FactStates, rows: Tensor, vectors: Tensor) -> Tensor:
        return self._places(facts, rows, self._subjects)

    @override
    def time_scores(self, facts: FactStates, rows: Tensor, vectors: Tensor) -> Tensor:
        return self._places(facts, rows, self._times)

    def _places(self, facts: FactStates, rows: Tensor, marked: dict[Place | None, float]) -> Tensor:
        spans = facts.spans[rows]
        scores = torch.full(spans.shape, NEVER).masked_fill(~spans, MASKED).flatten(1)
        scores = torch.cat([scores, torch.full((len(rows), 1), NEVER)], dim=1)
        for place, score in marked.items():
            scores[:, -1 if place is None else place[0] * SPAN + place[1] - place[0]] = score
        return scores


def decode(head: FactsHead, row: Features = ROW, **thresholds: float) -> list[DecodedFact]:
    batch = collate([row], [NO_SOURCE], pad_id=PAD, span=SPAN)
    states = torch.randn(*batch["input_ids"].shape, HIDDEN, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        return decode_facts(head.eval(), states, batch, [row], Thresholds.model_validate(thresholds))[0]


def test_a_fact_is_read_from_its_object() -> None:
    (fact,) = decode(ScriptedHead({(2, 3): 2.0}))
    assert (fact.subject, fact.predicate, fact.object, fact.time) == (None, "lives_in", OBJECT, None)
    assert fact.qualifiers == ()
    assert fact.probability == pytest.approx(sigmoid(2.0) * sigmoid(3.0) * sigmoid(5.0), abs=1e-5)


def test_an_object_has_every_predicate_that_is_probable_enough() -> None:
    head = ScriptedHead({(2, 3): 2.0}, predicates={"lives_in": 2.0, "likes": 0.5, "owns": -1.0, "uses": -2.0})
    assert {fact.predicate for fact in decode(head)} == {"lives_in", "likes", "owns"}
    assert {fact.predicate for fact in decode(head, facts=0.5)} == {"lives_in", "likes"}
    assert {fact.predicate for fact in decode(head, facts=0.0)} == {
        "lives_in",
        "likes",
        "owns",
    }  # the last is not looked at


def test_a_fact_is_as_probable_as_its_object_its_predicate_and_its_subject_together() -> None:
    head = ScriptedHead({(2, 3): 2.0}, subjects={None: 0.5})
    together = sigmoid(2.0) * sigmoid(3.0) * sigmoid(0.5)
    assert decode(head, facts=together - 0.01) != []
    assert decode(head, facts=together + 0.01) == []


def test_an_improbable_object_states_nothing() -> None:
    assert decode(ScriptedHead({(2, 3): -1.5}), facts=0.0) == []
    assert decode(ScriptedHead({(2, 3): -1.0}), facts=0.0) != []
    assert decode(FactsHead(SHAPE.facts), read("", "你住哪"), facts=0.0) == []


def test_facts_are_in_the_order_of_their_objects() -> None:
    head = ScriptedHead({(2, 3): 2.0, (0, 0): 1.0, (3, 3): 3.0})
    assert [fact.object for fact in decode(head)] == [(3, 3), OBJECT, (6, 6)]


def test_a_subject_may_stand_in_the_conversation() -> None:
    (fact,) = decode(ScriptedHead({(2, 3): 2.0}, subjects={(0, 0): 1.5, None: -2.0}))
    assert fact.subject == (0, 0)
    assert fact.probability == pytest.approx(sigmoid(2.0) * sigmoid(3.0) * sigmoid(1.5), abs=1e-5)


def test_of_several_subjects_each_has_the_fact() -> None:
    facts = decode(ScriptedHead({(2, 3): 2.0}, subjects={(0, 0): 1.5, (3, 3): 1.0, None: -2.0}))
    assert [fact.subject for fact in facts] == [(0, 0), (3, 3)]
    assert facts[0].probability > facts[1].probability


def test_where_no_subject_is_more_probable_than_not_the_best_one_counts() -> None:
    (fact,) = decode(ScriptedHead({(2, 3): 2.0}, subjects={(0, 0): -1.0, None: -2.0}))
    assert fact.subject == (0, 0)


def test_a_fact_has_its_time_and_qualifiers() -> None:
    head = ScriptedHead(
        {(2, 3): 2.0},
        times={(1, 2): 3.0, None: 2.0},
        qualifiers={Qualifier.PAST: 1.0, Qualifier.NEGATED: 0.2, Qualifier.HEDGED: -0.2},
    )
    (fact,) = decode(head)
    assert fact.time == (1, 2)
    assert set(fact.qualifiers) == {Qualifier.PAST, Qualifier.NEGATED}
    assert decode(head, qualifiers=0.6)[0].qualifiers == (Qualifier.PAST,)


def probabilities(**said: float) -> list[float]:
    return [said.get(qualifier.value, 0.0) for qualifier in Qualifier]


@pytest.mark.parametrize(
    ("said", "others", "decided"),
    [
        ({"past": 0.35, "ended": 0.3}, [], (Qualifier.PAST,)),
        ({"past": 0.3, "ended": 0.25}, [], ()),
        ({"past": 0.1, "ended": 0.15}, [0.02], (Qualifier.ENDED,)),
        ({"past": 0.1, "ended": 0.15}, [0.6], ()),
        ({"past": 0.5}, [0.9], ()),
        ({"past": 0.85}, [0.95, 0.1], (Qualifier.PAST,)),
        ({"past": 0.05}, [0.01], ()),
        ({"past": 0.4, "ended": 0.3, "recurring": 0.6}, [], (Qualifier.PAST, Qualifier.RECURRING)),
    ],
)
def test_of_several_values_those_are_over_that_are_likelier_so(
    said: dict[str, float], others: list[float], decided: tuple[Qualifier, ...]
) -> None:
    of_this = probabilities(**said)
    qualifiers = decide_qualifiers(of_this, [over_probability(of_this), *others], Thresholds())
    assert set(qualifiers) == set(decided)


def test_at_most_so_many_objects_are_read() -> None:
    every = {(first, last): 1.0 + first / 9 for first in range(40) for last in range(first, min(first + 3, 40))}
    facts = decode(ScriptedHead(every), read("字" * 40))
    assert len(facts) == 24
    assert facts == sorted(facts, key=lambda fact: fact.object)


@pytest.mark.parametrize("seed", range(5))
def test_what_a_random_head_decodes_lies_in_one_text_each(seed: int) -> None:
    row = read("他住板橋 near the sea", "小美 and 老王", "嗯", names=("宏康", "AI-Box"))
    torch.manual_seed(seed)
    head = FactsHead(SHAPE.facts)
    torch.nn.init.zeros_(head.object_score.start_score.bias)  # else no span is an object
    facts = decode(head, row, facts=0.0)
    context = len(row.source.units)
    text_of = [*row.source.turn_of, *[-1] * len(row.units)]
    assert facts
    for fact in facts:
        assert fact.object[0] >= context
        for place in (fact.object, fact.subject, fact.time):
            if place is not None:
                assert place[0] <= place[1] < len(text_of)
                assert text_of[place[0]] == text_of[place[1]]
        assert 0.0 <= fact.probability <= 1.0
        assert fact.predicate in PREDICATES
