"""Chooses a recipe for each conversation on all the others, so that no figure is of what the recipe was chosen on."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from memory.retrieval.fusion import ENTITY_MEMORY, FusionRecipe

_WEIGHTS = {
    "beside": (0.0, 0.5, 0.75),
    "speaker": (0.0, 0.3, 0.6),
    "linked": (0.0, 0.6, 0.9),
    "alike": (0.0, 0.2),
}


def _grid() -> dict[str, FusionRecipe]:
    recipes = {}
    for beside, speaker, linked, alike in product(*_WEIGHTS.values()):
        name = f"beside {beside:g}, speaker {speaker:g}, linked {linked:g}, alike {alike:g}"
        recipes[name] = replace(ENTITY_MEMORY, name=name, beside=beside, speaker=speaker, linked=linked, alike=alike)
    return recipes


GRID: Mapping[str, FusionRecipe] = _grid()
"""000's formula with every boost from none to more than is served, the least first."""


@dataclass(frozen=True)
class Outcome:
    """The result of a recipe on one question of a conversation.

    Attributes:
        recalls: Share of its evidence among few of the best hits and among more, 0–1.
    """

    conversation: str
    kind: str
    recipe: str
    recalls: tuple[float, ...]
    took_ms: float

    @property
    def recall(self) -> float:
        """Among the more."""
        return self.recalls[-1]


def choose_on_others(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """By conversation, the recipe with the highest mean recall over the questions of all other conversations.

    Of equal recipes the first that was asked.
    """
    chosen = {}
    for conversation in dict.fromkeys(outcome.conversation for outcome in outcomes):
        recalls = defaultdict(list)
        for outcome in outcomes:
            if outcome.conversation != conversation:
                recalls[outcome.recipe].append(outcome.recall)
        if not recalls:
            raise ValueError("one conversation alone: there is no other to choose on")
        chosen[conversation] = max(recalls, key=lambda recipe: float(np.mean(recalls[recipe])))
    return chosen
