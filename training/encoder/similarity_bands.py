"""Calibrates the similarity bands of a model on labelled pairs (DESIGN §6).

    python -m training.encoder.similarity_bands DATA --cache MODELS [--model ID]

DATA is the folder with `csts_zh`. Thresholds are chosen on one part (STS-B train, every other LCQMC row, every other
topic of `memory_pairs.json`) and measured on another (STS-B dev, the other rows and topics). Both texts of a pair are
encoded as passages, as memories are stored. The output is a table and, last, one JSON line for `catalog.py`.

Labels:

- STS-B: 5 is a duplicate. 3 and 4 have the same topic and differ in a detail, which is what a conflict looks like.
  0 to 2 are unrelated. 4 ("only unimportant details differ") is left out where duplicates are counted.
- LCQMC: 1 is a duplicate. 0 is none, but its topic may be the same, so the set counts for duplicates only.
- `memory_pairs.json`: written for this project, four pairs for each topic.

Thresholds:

- `lower` has the best F1 of "same topic", averaged over the sources.
- `duplicate` is the lowest threshold with a precision of 0.9 for duplicates, averaged over the sources.
- `upper` is 1, as in 001: the table shows that below it no cosine rules out a differing value.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from memory.ports.models.language import FloatMatrix, TextKind
from memory.typed_memories.bands import BandQuality, SimilarityBand, SimilarityBands
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model

_MEMORY_PAIRS = Path(__file__).parents[1] / "data" / "memory_pairs.json"
_GRID = np.arange(0.0, 1.0005, 0.005)
_MIN_PRECISION = 0.9
_UPPER = 1.0
_NEARLY_EQUAL = 0.995
_LOWER_OF_001 = 0.85
_BATCH_SIZE = 256

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Relation(IntEnum):
    """How two texts of a labelled pair are related."""

    APART = 0
    UNLIKE = 1
    """No duplicates; whether the topic is the same is unknown."""
    DIFFERING = 2
    """The same topic with a differing detail."""
    NEARLY = 3
    """The same except for unimportant details."""
    SAME = 4


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two texts and their relation; `source` names their data set."""

    left: str
    right: str
    relation: Relation
    source: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of one language: those that thresholds are chosen on, and those they are measured on."""

    choose: tuple[LabelledPair, ...]
    report: tuple[LabelledPair, ...]


def read_chinese(folder: Path, *, limit: int) -> Pairs:
    """Reads STS-B and LCQMC, at most `limit` rows of each for each part, and the pairs of this project."""
    lcqmc = _rows(folder / "lcqmc-dev.txt", "LCQMC", {0: Relation.UNLIKE, 1: Relation.SAME})
    train, dev = (_rows(folder / f"sts-b-{part}.txt", "STS-B", _STS_B) for part in ("train", "dev"))
    topics = [topic for script in ("zh-Hant", "zh-Hans") for topic in _read_topics(script)]
    choose, report = _split_topics(topics)
    return Pairs(
        choose=(*train[:limit], *lcqmc[0::2][:limit], *choose), report=(*dev[:limit], *lcqmc[1::2][:limit], *report)
    )


_STS_B = {
    0: Relation.APART,
    1: Relation.APART,
    2: Relation.APART,
    3: Relation.DIFFERING,
    4: Relation.NEARLY,
    5: Relation.SAME,
}


def read_english() -> Pairs:
    """Reads the English pairs of this project."""
    return Pairs(*_split_topics(_read_topics("en")))


def _rows(path: Path, source: str, relations: dict[int, Relation]) -> list[LabelledPair]:
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        left, right, label = line.split("\t")
        rows.append(LabelledPair(left, right, relations[int(label)], source))
    return rows


def _read_topics(script: str) -> list[list[str]]:
    pairs_by_script: dict[str, list[list[str]]] = json.loads(_MEMORY_PAIRS.read_text(encoding="utf-8"))
    return pairs_by_script[script]


def _split_topics(topics: Sequence[Sequence[str]]) -> tuple[tuple[LabelledPair, ...], tuple[LabelledPair, ...]]:
    return tuple(_pairs(topics[0::2])), tuple(_pairs(topics[1::2]))


def _pairs(topics: Sequence[Sequence[str]]) -> list[LabelledPair]:
    pairs = []
    for (statement, same, other_value, related), (elsewhere, *_) in zip(topics, [*topics[1:], topics[0]], strict=True):
        for text, relation in (
            (same, Relation.SAME),
            (other_value, Relation.DIFFERING),
            (related, Relation.APART),
            (elsewhere, Relation.APART),
        ):
            pairs.append(LabelledPair(statement, text, relation, "memories"))
    return pairs


@dataclass(frozen=True, slots=True)
class Question:
    """A binary classification by a cosine threshold.

    Attributes:
        name: Title in the table.
        meant: The positive relations, which should lie above the threshold.
        left_out: Relations that do not count.
        sources: Data sets that count: those with both positive and negative pairs.
    """

    name: str
    meant: frozenset[Relation]
    left_out: frozenset[Relation]
    sources: frozenset[str]


CANDIDATES = Question(
    "same topic",
    meant=frozenset({Relation.DIFFERING, Relation.NEARLY, Relation.SAME}),
    left_out=frozenset({Relation.UNLIKE}),
    sources=frozenset({"STS-B", "memories"}),
)
DUPLICATES = Question(
    "the same",
    meant=frozenset({Relation.SAME}),
    left_out=frozenset({Relation.NEARLY}),
    sources=frozenset({"STS-B", "LCQMC", "memories"}),
)


def quality(pairs: Sequence[LabelledPair], cosines: Floats, question: Question, threshold: float) -> BandQuality | None:
    """Measures precision (0 without a pair above the threshold) and recall; None without a positive pair."""
    counted = np.array(
        [pair.relation not in question.left_out and pair.source in question.sources for pair in pairs], np.bool_
    )
    meant = np.array([pair.relation in question.meant for pair in pairs], np.bool_)[counted]
    if not meant.any():
        return None
    above = cosines[counted] >= threshold
    agreeing = float((meant & above).sum())
    precision = agreeing / float(above.sum()) if above.any() else 0.0
    return BandQuality(precision=precision, recall=agreeing / float(meant.sum()), pairs=int(counted.sum()))


def by_source(
    pairs: Sequence[LabelledPair], cosines: Floats, question: Question, threshold: float
) -> dict[str, BandQuality]:
    """Measures a threshold on each source, so that a large source does not outweigh the others."""
    qualities = {}
    for source in sorted(question.sources):
        of_source: Flags = np.array([pair.source == source for pair in pairs], np.bool_)
        source_pairs = [pair for pair in pairs if pair.source == source]
        if (measured := quality(source_pairs, cosines[of_source], question, threshold)) is not None:
            qualities[source] = measured
    return qualities


def choose_lower(pairs: Sequence[LabelledPair], cosines: Floats) -> float:
    """Finds the threshold with the best F1 of `CANDIDATES`, averaged over the sources."""

    def score(threshold: float) -> float:
        return float(np.mean([f1(measured) for measured in by_source(pairs, cosines, CANDIDATES, threshold).values()]))

    return float(max(_GRID, key=score))


def choose_duplicate(pairs: Sequence[LabelledPair], cosines: Floats) -> float:
    """Finds the lowest threshold with `_MIN_PRECISION`, averaged over the sources, or else the most precise one."""

    def precision(threshold: float) -> float:
        measured = by_source(pairs, cosines, DUPLICATES, threshold).values()
        return float(np.mean([band.precision for band in measured]))

    precise = [threshold for threshold in _GRID if precision(threshold) >= _MIN_PRECISION]
    return float(min(precise) if precise else max(_GRID, key=precision))


def f1(measured: BandQuality) -> float:
    """`2 · P · R / (P + R)`."""
    total = measured.precision + measured.recall
    return 2 * measured.precision * measured.recall / total if total else 0.0


def calibrate(pairs: Pairs, cosine: Callable[[Sequence[LabelledPair]], Floats]) -> SimilarityBand:
    """Chooses a band on one part and measures it on the other."""
    chosen = cosine(pairs.choose)
    lower = choose_lower(pairs.choose, chosen)
    duplicate = max(lower, choose_duplicate(pairs.choose, chosen))
    report_cosines = cosine(pairs.report)
    candidates = quality(pairs.report, report_cosines, CANDIDATES, lower)
    duplicates = quality(pairs.report, report_cosines, DUPLICATES, duplicate)
    if candidates is None or duplicates is None:
        raise ValueError("The reporting part holds no pair that is meant.")
    return SimilarityBand(
        lower=round(lower, 3),
        upper=_UPPER,
        duplicate=round(duplicate, 3),
        candidates=_rounded(candidates),
        duplicates=_rounded(duplicates),
    )


def _rounded(measured: BandQuality) -> BandQuality:
    return BandQuality(precision=round(measured.precision, 3), recall=round(measured.recall, 3), pairs=measured.pairs)


def cosines_by(encode: Callable[[Sequence[str]], FloatMatrix]) -> Callable[[Sequence[LabelledPair]], Floats]:
    """Makes a function that computes the cosines of pairs; each distinct text is encoded once."""
    vectors: dict[str, FloatMatrix] = {}

    def cosine(pairs: Sequence[LabelledPair]) -> Floats:
        texts = sorted({text for pair in pairs for text in (pair.left, pair.right)} - vectors.keys(), key=len)
        for start in range(0, len(texts), _BATCH_SIZE):
            batch = texts[start : start + _BATCH_SIZE]
            vectors.update(zip(batch, encode(batch), strict=True))
        products = [vectors[pair.left].astype(np.float64) @ vectors[pair.right] for pair in pairs]
        return np.array(products, np.float64)  # (pairs,)

    return cosine


def main() -> None:
    """Prints precision and recall by source and, last, one JSON line."""
    parser = argparse.ArgumentParser(description="Calibrates similarity bands on labelled pairs.")
    parser.add_argument("data", type=Path, help="folder with csts_zh")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--limit", type=int, default=1400, help="rows of a source in a part, at most")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    from models.encoder.sentence_transformer_engine import SentenceTransformerEngine

    entry = get_model(arguments.model)
    folder = prepare_model(arguments.model, arguments.cache)
    engine = SentenceTransformerEngine(entry, folder, threads=arguments.threads)
    cosine = cosines_by(lambda texts: engine.encode(texts, TextKind.PASSAGE))
    chinese, english = read_chinese(arguments.data / "csts_zh", limit=arguments.limit), read_english()
    bands = SimilarityBands(chinese=calibrate(chinese, cosine), other=calibrate(english, cosine))
    table = Table("language", "question", "threshold", "source", "pairs", "precision", "recall")
    for name, pairs, band in (("Chinese", chinese, bands.chinese), ("English", english, bands.other)):
        _add(table, name, pairs.report, cosine(pairs.report), band)
    Console(width=140).print(table)
    report: dict[str, Any] = {"model": entry.id, **bands.model_dump()}
    sys.stdout.write(json.dumps(report) + "\n")


def _add(table: Table, name: str, pairs: Sequence[LabelledPair], cosines: Floats, band: SimilarityBand) -> None:
    rows = [(CANDIDATES, band.lower), (DUPLICATES, band.duplicate), (DUPLICATES, _NEARLY_EQUAL)]
    if band.lower != _LOWER_OF_001:
        rows.append((CANDIDATES, _LOWER_OF_001))
    for question, threshold in rows:
        qualities = by_source(pairs, cosines, question, threshold)
        if (whole := quality(pairs, cosines, question, threshold)) is not None:
            qualities["all"] = whole
        for source, measured in qualities.items():
            figures = (f"{measured.precision:.3f}", f"{measured.recall:.3f}")
            table.add_row(name, question.name, f"{threshold:.3f}", source, str(measured.pairs), *figures)


if __name__ == "__main__":
    main()
