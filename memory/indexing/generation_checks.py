"""Whether a new generation may be switched to: it agrees with the record, and finds what it holds (DESIGN §8)."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ..learning.learner import Learner
from ..ports.generations import VectorSpace
from ..ports.language import Priority, TextKind
from ..ports.record import SystemOfRecord
from ..ports.vectors import Collection, IndexQuery
from .keeper import IndexKeeper
from .projection import Projection, has_same_vector
from .walking import walk

SAMPLE = 64
"""So many items are looked up; of a generation whose vectors are swapped or torn, one is enough to tell."""
_ROUNDS = 3
_SAME = 0.99
"""Two computations of one text by one model agree at least so far, whatever stood beside it in the batch (issue 6)."""
_AMONG = 10
_ENOUGH = 0.95
"""Of the sample: many items may say nearly the same."""


@dataclass(frozen=True)
class GenerationReport:
    """What was found.

    Attributes:
        checked: Items compared with the record.
        wrong: Of these, those that are missing, stale or too many, after they were made anew.
        sampled: Items that were looked up.
        found: Of these, those whose stored vector is the model's and finds them again.
    """

    checked: int
    wrong: int
    sampled: int
    found: int

    @property
    def is_sound(self) -> bool:
        """Whether it may be switched to."""
        return not self.wrong and self.found >= _ENOUGH * self.sampled

    @property
    def complaint(self) -> str:
        """What is wrong with it."""
        if self.wrong:
            return f"{self.wrong} of {self.checked} new points do not agree with the record."
        return f"Only {self.found} of {self.sampled} items are found again by their new vectors."

    def figures(self) -> dict[str, int | float]:
        """For the run's output."""
        return {"checked": self.checked, "wrong": self.wrong, "sampled": self.sampled, "found": self.found}


async def check_generation(record: SystemOfRecord, space: VectorSpace, learner: Learner) -> GenerationReport:
    """Compares a generation with the record and makes anew what is wrong, then looks a sample up.

    Raises:
        Unavailable: A store or the encoder is down.
    """
    keeper = IndexKeeper(record=record, space=space, learner=learner)
    checked = wrong = 0
    for _ in range(_ROUNDS):
        async for report in keeper.verify(mend=True):
            checked, wrong = report.checked, report.wrong
        if not wrong:
            break
    sample = await _sample(record)
    found = [answer for one in sample if (answer := await _finds(space, *one)) is not None]
    return GenerationReport(checked, wrong, len(found), sum(found))


async def _sample(record: SystemOfRecord) -> Sequence[tuple[str, Collection, Projection]]:
    """Items of all users, each as likely as any other (Vitter's algorithm R, always the same choice)."""
    chosen: list[tuple[str, Collection, Projection]] = []
    draw, seen = random.Random(0), 0
    async for page in walk(record):
        for item in page.items:
            seen += 1
            place = len(chosen) if len(chosen) < SAMPLE else draw.randrange(seen)
            if place < SAMPLE:
                chosen[place : place + 1] = [(page.user_id, page.collection, item)]
    return chosen


async def _finds(space: VectorSpace, user_id: str, collection: Collection, item: Projection) -> bool | None:
    """Whether the stored vector is what the model makes of the text, and the text finds the item among the first.

    None for an item that has just changed, and waits in the outbox.
    """
    space = space.part(collection)
    fingerprint = item.fingerprint(space.encoder.model_id)
    points = await space.index.get(collection, [item.item_id], user_id=user_id)
    if not points or not has_same_vector(points[0].fingerprint, fingerprint):
        return None
    matrix = await space.encoder.encode([item.dense_text], kind=TextKind.PASSAGE, priority=Priority.BATCH)
    if float(points[0].dense @ matrix[0]) < _SAME:
        return False
    [hits] = await space.index.search([IndexQuery(collection, _AMONG, dense=matrix[0])], user_id=user_id)
    return bool(hits) and (item.item_id in [hit.point_id for hit in hits] or hits[-1].score >= _SAME)
