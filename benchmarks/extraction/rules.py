"""How well the extractor finds people, organisations and places: exact spans against hand-annotated sentences.

Theory: rules and jieba's dictionary, with no training, are a floor; a fine-tuned tagger reaches an F1 in the high
eighties on the Chinese sets, and joined with the rules (codes and quoted titles win an overlap) little less. The
extractor looks for what a user wants remembered, which is more than the three types of these sets (products, works,
codes), so only mentions with one of the three types, or with none, count.

Usage: python -m benchmarks.extraction.rules DATA [--sentences 300] [--part dev] [--cache MODELS [--weights FOLDER]]
DATA is a folder that holds Universal NER sets: uner_zh_gsd_traditional, uner_zh_gsdsimp, uner_en_ewt.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from memory.extraction.trained_extractor import TrainedExtractor
from rich.console import Console
from rich.table import Column, Table

from memory.extraction.extractor import RuleExtractor
from memory.ports.language import Extractor
from memory.values.mentions import EntitySubtype, MentionLevel
from models.assets.weight_files import shipped_weight_file
from models.tagger.tagger import BatchedTagger, TrainedTagger
from training.shared.data_sets import Part
from training.tagger.ner_data import load_sets
from training.tagger.ner_files import MarkedText

SETS = ("uner_zh_gsd_traditional", "uner_zh_gsdsimp", "uner_en_ewt")
TRAINED_AS = dict(zip(SETS, ("uner_traditional", "uner_simplified", "uner_en"), strict=True))
TYPES = {"PER": EntitySubtype.PERSON, "ORG": EntitySubtype.ORGANISATION, "LOC": EntitySubtype.PLACE}


class Span(NamedTuple):
    """A name: half-open offsets and its type; None where the extractor does not say."""

    start: int
    end: int
    subtype: EntitySubtype | None


class Score(NamedTuple):
    """Precision, recall and F1 in 0-1 over exact spans."""

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


def score(gold: list[set[Span]], found: list[set[Span]]) -> Score:
    """Micro-averaged precision, recall and F1."""
    right = sum(len(spans & other) for spans, other in zip(gold, found, strict=True))
    n_found, n_gold = sum(map(len, found)), sum(map(len, gold))
    precision, recall = right / max(1, n_found), right / max(1, n_gold)
    return Score(precision, recall, 2 * precision * recall / max(1e-9, precision + recall))


def main() -> None:
    """Prints a table and, last, one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument(
        "--part", default="dev", help="`dev` or `train` of each set, or `tune`: what choices were made on"
    )
    parser.add_argument(
        "--cache", type=Path, help="folder of prepared models: measures the trained tagger beside the rules"
    )
    parser.add_argument("--weights", type=Path, help="folder with the tagger's weights; the shipped ones without it")
    arguments = parser.parse_args()
    extractors: dict[str, Extractor] = {"rules": RuleExtractor()}
    if arguments.cache:
        tagger = BatchedTagger(
            TrainedTagger(shipped_weight_file("tagger", arguments.weights), arguments.cache, threads=1)
        )
        extractors["trained"] = TrainedExtractor(tagger=tagger, rules=RuleExtractor())
    table = Table(
        Column("set", no_wrap=True), "extractor", "measure", "precision", "recall", "F1", "ms a text (median)"
    )
    report: dict[str, object] = {"benchmark": "extraction", "sentences": arguments.sentences, "part": arguments.part}
    for name in SETS:
        sentences = read_part(arguments.data, name, arguments.part)[: arguments.sentences]
        gold = [set(spans) for _, spans in sentences]
        for title, extractor in extractors.items():
            found, took_ms = asyncio.run(_extracted(extractor, [text for text, _ in sentences]))
            measures = _measures(gold, found)
            for measure, value in measures.items():
                cells = [f"{100 * part:.1f}" for part in value]
                table.add_row(name, title, measure, *cells, f"{took_ms:.2f}" if measure == "typed" else "")
            report[f"{name} {title}"] = {measure: round(100 * value.f1, 1) for measure, value in measures.items()}
    Console().print(table)
    print(json.dumps(report))


def read_part(data: Path, name: str, part: str) -> list[tuple[str, list[Span]]]:
    """The sentences of one part of a set."""
    if part != "tune":
        (path,) = (data / name).glob(f"*-{part}.iob2")
        return list(read_iob2(path))
    rows = _tuned(data)[TRAINED_AS[name]][Part.TUNE]
    return [
        (row.text, [Span(span.start, span.end, EntitySubtype(span.label)) for span in row.spans if span.label])
        for row in rows
    ]


@cache
def _tuned(data: Path) -> dict[str, dict[Part, list[MarkedText]]]:
    return load_sets(data)


async def _extracted(extractor: Extractor, texts: list[str]) -> tuple[list[set[Span]], float]:
    """What is found in each text, and how long the median text takes, in milliseconds."""
    await extractor.extract(["預熱 warm up"])
    found, times = list[set[Span]](), list[float]()
    for text in texts:
        started = time.perf_counter()
        [extraction] = await extractor.extract([text])
        times.append((time.perf_counter() - started) * 1e3)
        if extraction.degraded:
            sys.exit("the tagger does not answer")
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
