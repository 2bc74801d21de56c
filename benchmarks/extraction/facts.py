"""Which facts the service keeps of messages: subject, predicate, object and qualifiers against those that are marked.

Theory: the reader's own F1 on the report part of the chat corpus, word for word, is in its card (41.4); what is
compared as the store compares it (names without "my" and 這台) gains a few points, the confidence below which nothing
is kept trades recall for precision, and qualifiers lose a tenth. The category hangs on the predicate alone, and
predicates that are taken for one another are mostly of one category, so it is predicted to be right in nine of ten
found facts.

    python -m benchmarks.extraction.facts --cache MODELS [--corpus FOLDER …] [--part report] [--duie FOLDER]

A corpus is a folder with `messages`, split as `training.reader.corpus` says; with `--part all` every file counts. DuIE
(`train_data_5000.json`) has sentences of an encyclopedia; only predicates that Jiyi has count, and as many true triples
are not marked there, its precision is a lower bound. `other` has no category of its own and counts in none. The last
line is JSON.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from more_itertools import chunked
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.extraction.names import Score, score
from memory.extraction.extractor import ReadingExtractor
from memory.facts.statements import bare_name
from memory.learning.facts import MIN_CONFIDENCE
from memory.ports.models.language import Extractor
from memory.values.predicates import OTHER, CategoryName, category_of
from memory.values.text import normalise
from memory.values.understanding.readings import Context, Qualifier, StatedFact
from models.assets.weight_files import shipped_weight_file
from models.reader.reader import BatchedReader, TrainedReader
from training.reader.corpus import MarkedFact, read_messages
from training.shared.data_sets import Part

DUIE_PREDICATES: Mapping[str, str] = {
    "毕业院校": "graduated_from",
    "父亲": "parent",
    "母亲": "parent",
    "妻子": "spouse",
    "丈夫": "spouse",
    "国籍": "nationality",
    "祖籍": "hometown",
    "号": "nickname",
    "总部地点": "located_in",
    "所在城市": "located_in",
    "所属专辑": "part_of",
    "面积": "size",
    "占地面积": "size",
}
"""Predicates of DuIE that say the same as one of ours."""
_SYMMETRIC = frozenset({"spouse"})
_BATCH = 32
ALL = "all"


class Key(NamedTuple):
    """A fact, as it is compared; the subject is empty for the speaker."""

    subject: str
    predicate: str
    object: str
    qualifiers: frozenset[Qualifier] = frozenset()


class Example(NamedTuple):
    """A message after its history, with the facts that it states."""

    language: str
    turns: tuple[str, ...]
    text: str
    facts: tuple[MarkedFact, ...]


class Pair(NamedTuple):
    """What is marked in a message, and what was found in it."""

    language: str
    marked: frozenset[Key]
    found: frozenset[Key]


def marked_key(fact: MarkedFact) -> Key:
    """A marked fact, with the names as the store compares them."""
    return Key(_name(fact.subject), fact.predicate, _name(fact.object), frozenset(fact.qualifiers))


def found_key(fact: StatedFact) -> Key:
    """A fact that was read, in the same form."""
    subject = fact.subject.text if fact.subject else ""
    return Key(_name(subject), fact.predicate, _name(fact.object.text), frozenset(fact.qualifiers))


def _name(text: str) -> str:
    return normalise(bare_name(text)) if text else ""


def read_corpus(folders: Sequence[Path], part: str) -> list[Example]:
    """The messages of a part of chat corpora."""
    parts = list(Part) if part == ALL else [Part(part)]
    return [
        Example(message.language, message.turns, message.text, message.facts)
        for chosen in parts
        for message in read_messages(folders, chosen)
    ]


def read_duie(file: Path) -> Iterator[Example]:
    """The sentences of DuIE with those of their triples whose predicate we have."""
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        facts = tuple(
            MarkedFact(triple["subject"], DUIE_PREDICATES[triple["predicate"]], triple["object"]["@value"])
            for triple in row["spo_list"]
            if triple["predicate"] in DUIE_PREDICATES
        )
        yield Example("zh-Hans", (), row["text"], facts)


async def compare(extractor: Extractor, examples: Sequence[Example], *, floor: float) -> list[Pair]:
    """Reads every message in its history; facts below the floor are not kept, and so not found."""
    pairs = []
    batches = list(chunked(examples, _BATCH))
    for batch in track(batches, description="messages", console=Console(stderr=True), transient=True):
        contexts = [Context(turns=example.turns) for example in batch]
        extractions = await extractor.extract([example.text for example in batch], contexts=contexts)
        for example, extraction in zip(batch, extractions, strict=True):
            if extraction.degraded:
                sys.exit("the reader does not answer")
            kept = [fact for fact in extraction.facts if fact.confidence >= floor]
            marked = frozenset(map(marked_key, example.facts))
            pairs.append(Pair(example.language, marked, frozenset(map(found_key, kept))))
    return pairs


def selections(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """What is compared, by name: whole facts, facts without some of their parts, of a language, of a predicate."""
    plain = [_without_qualifiers(pair) for pair in pairs]
    selected = {
        "with qualifiers": list(pairs),
        "facts": plain,
        "predicate and object": [_mapped(pair, lambda key: key._replace(subject="")) for pair in plain],
        "subject and object": [_mapped(pair, lambda key: key._replace(predicate="")) for pair in plain],
    }
    for language in dict.fromkeys(pair.language for pair in plain):
        selected[language] = [pair for pair in plain if pair.language == language]
    for predicate in sorted({key.predicate for pair in plain for key in pair.marked}):
        selected[f"predicate {predicate}"] = [_only(pair, predicate) for pair in plain]
    for qualifier in Qualifier:
        selected[f"qualifier {qualifier}"] = [_qualified(pair, qualifier) for pair in pairs]
    return selected


def score_pairs(pairs: Sequence[Pair]) -> Score:
    """Precision, recall and F1 over all messages."""
    return score([pair.marked for pair in pairs], [pair.found for pair in pairs])


def category_accuracy(pairs: Iterable[Pair]) -> dict[str, tuple[int, int]]:
    """Right and all of the facts whose subject and object were found, by their marked category, and of `all`."""
    counts: dict[str, tuple[int, int]] = {}
    for pair in pairs:
        found: dict[tuple[str, str], set[CategoryName]] = {}
        for key in pair.found:
            found.setdefault((key.subject, key.object), set()).add(category_of(key.predicate))
        for key in pair.marked:
            read = found.get((key.subject, key.object))
            if read is None or key.predicate == OTHER:
                continue
            category = category_of(key.predicate)
            for name in (str(category), ALL):
                right, total = counts.get(name, (0, 0))
                counts[name] = right + (category in read), total + 1
    return counts


def of_duie(pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs with the predicates of DuIE alone, without qualifiers; who is whose spouse counts in one direction."""
    ours = frozenset(DUIE_PREDICATES.values())

    def comparable(key: Key) -> Key:
        if key.predicate in _SYMMETRIC and key.subject > key.object:
            return Key(key.object, key.predicate, key.subject)
        return key._replace(qualifiers=frozenset())

    return [
        Pair(pair.language, *(frozenset(comparable(key) for key in keys if key.predicate in ours) for keys in pair[1:]))
        for pair in pairs
    ]


def _mapped(pair: Pair, change: Any) -> Pair:
    return Pair(pair.language, frozenset(map(change, pair.marked)), frozenset(map(change, pair.found)))


def _without_qualifiers(pair: Pair) -> Pair:
    return _mapped(pair, lambda key: key._replace(qualifiers=frozenset()))


def _only(pair: Pair, predicate: str) -> Pair:
    marked, found = (frozenset(key for key in keys if key.predicate == predicate) for keys in pair[1:])
    return Pair(pair.language, marked, found)


def _qualified(pair: Pair, qualifier: Qualifier) -> Pair:
    """The facts with a qualifier, among those that both have but for their qualifiers."""
    plain = _without_qualifiers(pair)
    both = plain.marked & plain.found
    marked, found = (
        frozenset(
            plain_key
            for key in keys
            if qualifier in key.qualifiers and (plain_key := key._replace(qualifiers=frozenset())) in both
        )
        for keys in (pair.marked, pair.found)
    )
    return Pair(pair.language, marked, found)


async def main() -> None:
    """Prints tables and, last, one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--weights", type=Path, help="folder with the reader's weights; the shipped ones without it")
    parser.add_argument("--corpus", type=Path, nargs="*", default=[], help="folders of chat corpora")
    parser.add_argument("--part", choices=[*(part.value for part in Part), ALL], default=Part.REPORT.value)
    parser.add_argument("--duie", type=Path, help="folder of DuIE")
    parser.add_argument("--sentences", type=int, default=1_000, help="sentences of DuIE, at most")
    parser.add_argument("--floor", type=float, default=MIN_CONFIDENCE, help="confidence from which a fact is kept")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    weights = shipped_weight_file("reader", arguments.weights)
    extractor = ReadingExtractor(BatchedReader(TrainedReader(weights, arguments.cache, threads=arguments.threads)))
    report: dict[str, Any] = {"benchmark": "facts", "floor": arguments.floor, "part": arguments.part}
    if arguments.corpus:
        examples = read_corpus(arguments.corpus, arguments.part)
        pairs = await compare(extractor, examples, floor=arguments.floor)
        report["corpus"] = _shown(f"{len(examples)} messages of the chat corpora", selections(pairs))
        report["categories"] = _show_categories(category_accuracy(pairs))
    if arguments.duie:
        sentences = list(islice(read_duie(arguments.duie / "train_data_5000.json"), arguments.sentences))
        pairs = of_duie(await compare(extractor, sentences, floor=arguments.floor))
        selected = {name: chosen for name, chosen in selections(pairs).items() if "qualifier" not in name}
        report["duie"] = _shown(f"{len(sentences)} sentences of DuIE", selected)
    print(json.dumps(report))


def _shown(title: str, selected: Mapping[str, Sequence[Pair]]) -> dict[str, dict[str, float]]:
    """Prints a table; returns percentages, and how many facts are marked, for the report."""
    table = Table("measure", title=title, title_justify="left")
    for column in ("marked", "precision", "recall", "F1"):
        table.add_column(column, justify="right")
    report = {}
    for name, pairs in selected.items():
        marked = sum(len(pair.marked) for pair in pairs)
        percent = [round(100 * share, 1) for share in score_pairs(pairs)]
        table.add_row(name, *map(str, (marked, *percent)))
        report[name] = {"marked": marked, **dict(zip(("P", "R", "F1"), percent, strict=True))}
    Console().print(table)
    return report


def _show_categories(counts: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    table = Table("category", "facts found", "right %", title="Categories", title_justify="left")
    shares = {name: round(100 * right / total, 1) for name, (right, total) in sorted(counts.items())}
    for name, share in shares.items():
        table.add_row(name, str(counts[name][1]), str(share))
    Console().print(table)
    return shares


if __name__ == "__main__":
    asyncio.run(main())
