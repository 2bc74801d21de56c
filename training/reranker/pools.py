"""Pools: questions with what the fused retrieval found for them; what a reranker is trained and measured on.

`python -m benchmarks.retrieval.reranking` writes them, one JSON object a line.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from ..shared.data_sets import Part


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit of the fused retrieval.

    Attributes:
        text: The text that a reranker reads.
        fused: The fused score.
        gold: Whether it answers the question.
    """

    text: str
    fused: float
    gold: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """A question with the hits of the fused retrieval.

    Attributes:
        data_set: Where it is from.
        group: Its article, dialogue or conversation.
        kind: Its type, where the set has types.
        question: The question as asked.
        gold: Number of passages that answer it, found or not.
        served: Whether each of the ten hits that the service returns without a reranker is gold.
        candidates: Best first by fused score.
    """

    data_set: str
    group: str
    kind: str
    question: str
    gold: int
    served: tuple[bool, ...]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """How a set is divided, in hundredths of its groups; the rest is for the report."""

    train: int
    tune: int


SHARES = {
    "drcd": Share(50, 10),
    "cmrc2018": Share(50, 10),
    "canard": Share(80, 10),
    "memdaily": Share(50, 10),
    "locomo": Share(0, 0),  # CC BY-NC: measured, never trained on, and nothing is chosen on it
}


def part_of(data_set: str, group: str) -> Part:
    """Returns the part of a group, which depends on its name alone."""
    place = int.from_bytes(blake2b(group.encode(), digest_size=4).digest(), "big") % 100
    share = SHARES[data_set]
    if place < share.train:
        return Part.TRAIN
    return Part.TUNE if place < share.train + share.tune else Part.REPORT


def write_pools(path: Path, pools: Iterable[Pool]) -> None:
    """Writes a file, replacing it."""
    with path.open("w", encoding="utf-8") as file:
        for pool in pools:
            file.write(json.dumps(asdict(pool), ensure_ascii=False) + "\n")


def read_pools(path: Path, part: Part) -> Iterator[Pool]:
    """The questions of one part."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            fields = json.loads(line)
            if part_of(fields["data_set"], fields["group"]) is part:
                candidates = tuple(Candidate(**candidate) for candidate in fields.pop("candidates"))
                yield Pool(**{**fields, "served": tuple(fields["served"])}, candidates=candidates)
