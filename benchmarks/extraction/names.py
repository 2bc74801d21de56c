"""How well the extractor finds people, organisations and places: exact spans against hand-annotated sentences.

Theory: the reader by itself reaches an F1 in the high eighties on the Chinese sets; as served (seeds win overlaps,
identifiers are added) little less. The extractor looks for what a user wants remembered, which is more than the three
types of these sets (products, works, codes), so only mentions with one of the three types, or with none, count.

Usage: python -m benchmarks.extraction.names DATA --cache MODELS [--sentences 300] [--part dev] [--weights FOLDER]
DATA is a folder that holds Universal NER sets: uner_zh_gsd_traditional, uner_zh_gsdsimp, uner_en_ewt.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Column, Table

from memory.extraction.extractor import ReadingExtractor
from memory.ports.models.language import Extractor
from memory.values.understanding.mentions import EntitySubtype, MentionLevel
from models.assets.weight_files import shipped_weight_file
from models.reader.reader import BatchedReader, TrainedReader

SETS = ("uner_zh_gsd_traditional", "uner_zh_gsdsimp", "uner_en_ewt")
TYPES = {"PER": EntitySubtype.PERSON, "ORG": EntitySubtype.ORGANISATION, "LOC": EntitySubtype.PLACE}


class Span(NamedTuple):
    """A name: half-open offsets and its type; None where the extractor does not say."""

    start: int
    end: int
    subtype: EntitySubtype | None


class Score(NamedTuple):
    """Precision, recall and F1 in 0-1."""

    precision: float
    recall: float
    f1: float


def read_iob2(path: Path) -> Iterator[tuple[str, list[Span]]]:
    """Reads the sentences of a Universal NER file; the offsets are into the text of its `# text` line."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = block.split("\n")
        text = next((line[len("# text = ") :] for line in lines if line.startswith("# text = ")), None)
        if text is None:
            continue
        position, spans = 0, list[Span]()
        for line in lines:
            if not line.strip() or line.startswith("#"):
                continue
            _, token, tag, *_ = line.split("\t")
            start = text.index(token, position)
            position = start + len(token)
            if tag.startswith("B-"):
                spans.append(Span(start, position, TYPES[tag[2:]]))
            elif tag.startswith("I-") and spans:
                spans[-1] = spans[-1]._replace(end=position)
        yield text, spans


def score(gold: Sequence[Set[object]], found: Sequence[Set[object]]) -> Score:
    """Micro-averaged precision, recall and F1 of what was found in each text."""
    right = sum(len(marked & other) for marked, other in zip(gold, found, strict=True))
    n_found, n_gold = sum(map(len, found)), sum(map(len, gold))
    precision, recall = right / max(1, n_found), right / max(1, n_gold)
    return Score(precision, recall, 2 * precision * recall / max(1e-9, precision + recall))


def main() -> None:
    """Prints a table and, last, one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--part", default="dev", choices=("dev", "train"), help="part of each set")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--weights", type=Path, help="folder with the reader's weights; the shipped ones without it")
    arguments = parser.parse_args()
    weights = shipped_weight_file("reader", arguments.weights)
    extractor = ReadingExtractor(BatchedReader(TrainedReader(weights, arguments.cache, threads=1)))
    table = Table(Column("set", no_wrap=True), "measure", "precision", "recall", "F1", "ms a text (median)")
    report: dict[str, object] = {"benchmark": "extraction", "sentences": arguments.sentences, "part": arguments.part}
    for name in SETS:
        [path] = (arguments.data / name).glob(f"*-{arguments.part}.iob2")
        sentences = list(islice(read_iob2(path), arguments.sentences))
        gold = [set(spans) for _, spans in sentences]
        found, took_ms = asyncio.run(_extracted(extractor, [text for text, _ in sentences]))
        measures = _measures(gold, found)
        for measure, value in measures.items():
            cells = [f"{100 * part:.1f}" for part in value]
            table.add_row(name, measure, *cells, f"{took_ms:.2f}" if measure == "typed" else "")
        report[name] = {measure: round(100 * value.f1, 1) for measure, value in measures.items()}
    Console().print(table)
    print(json.dumps(report))


async def _extracted(extractor: Extractor, texts: list[str]) -> tuple[list[set[Span]], float]:
    """What is found in each text, and how long the median text takes, in milliseconds."""
    await extractor.extract(["預熱 warm up"])
    found, times = list[set[Span]](), list[float]()
    for text in texts:
        started = time.perf_counter()
        [extraction] = await extractor.extract([text])
        times.append((time.perf_counter() - started) * 1e3)
        if extraction.degraded:
            sys.exit("the reader does not answer")
        found.append(
            {
                Span(mention.start, mention.end, mention.subtype)
                for mention in extraction.mentions
                if mention.level is MentionLevel.LONG_TERM
                and (mention.subtype is None or mention.subtype in TYPES.values())
            }
        )
    return found, statistics.median(times)


def _measures(gold: list[set[Span]], found: list[set[Span]]) -> dict[str, Score]:
    measures = {
        "typed": score(gold, [{span for span in spans if span.subtype} for spans in found]),
        "span only": score(_untyped(gold), _untyped(found)),
    }
    for kind, subtype in TYPES.items():
        measures[kind] = score(_only(gold, subtype), _only(found, subtype))
    return measures


def _untyped(all_spans: list[set[Span]]) -> list[set[Span]]:
    return [{span._replace(subtype=None) for span in spans} for spans in all_spans]


def _only(all_spans: list[set[Span]], subtype: EntitySubtype) -> list[set[Span]]:
    return [{span for span in spans if span.subtype is subtype} for spans in all_spans]


if __name__ == "__main__":
    main()
