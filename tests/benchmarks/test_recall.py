"""How recall is counted, and a recipe chosen on the conversations that it is not measured on."""

from dataclasses import replace

import pytest

from benchmarks.retrieval.cross_validation import GRID, Outcome, choose_on_others
from benchmarks.retrieval.recall import RECIPES, figures


def _outcome(conversation: str, recipe: str, recall: float, *, at_5: float = 0.0, kind: str = "1") -> Outcome:
    return Outcome(conversation, kind, recipe, (at_5, recall), 1.0)


def test_a_recipe_is_chosen_on_all_conversations_but_the_one_it_is_measured_on() -> None:
    outcomes = [
        *(_outcome("a", recipe, recall) for recipe, recall in (("best on a", 1.0), ("best on b and c", 0.0))),
        *(_outcome("b", recipe, recall) for recipe, recall in (("best on a", 0.3), ("best on b and c", 0.5))),
        *(_outcome("c", recipe, recall) for recipe, recall in (("best on a", 0.3), ("best on b and c", 0.5))),
    ]
    assert choose_on_others(outcomes) == {"a": "best on b and c", "b": "best on a", "c": "best on a"}


def test_of_equal_recipes_the_first_is_chosen_and_one_conversation_is_refused() -> None:
    assert choose_on_others([_outcome(of, name, 0.5) for of in "ab" for name in ("less", "more")])["a"] == "less"
    with pytest.raises(ValueError, match="no other"):
        choose_on_others([_outcome("a", "less", 0.5)])


def test_the_recipes_that_are_reported_are_of_the_grid() -> None:
    grid = [replace(recipe, name="") for recipe in GRID.values()]
    assert all(replace(recipe, name="") in grid for recipe in RECIPES.values())


def test_recall_is_counted_among_five_and_ten_by_kind_and_conversation() -> None:
    row = figures([_outcome("a", "served", 1.0, at_5=0.5), _outcome("b", "served", 0.5, kind="4")])
    assert (row["recall"], row["recall_at_5"]) == (75.0, 25.0)
    assert row["kinds"] == {"1": 100.0, "4": 50.0}
    assert row["kinds_at_5"] == {"1": 50.0, "4": 0.0}
    assert row["conversations"] == {"a": 100.0, "b": 50.0}
