"""Measures recall: the share of the turns that answer a question among the five and ten memories that a search finds.

    python -m benchmarks.retrieval.recall DATA --models FOLDER --cache FOLDER [--sets locomo memdaily languages] \
        [--skip 6] [--take 20] [--part report] [--cross-validate]

DATA has `memory/locomo`, `memory/memdaily_zh` and `memory/memorybank`; `--models` has the prepared weights, `--cache`
keeps vectors between runs. Every memory goes through the learner into the embedded vector index and is asked with the
service's own retriever, in this process and without an LLM: once with 000's formula alone (`plain`), once with the
recipe that is served. The last line is JSON; intervals are 95% bootstrap intervals over questions.

- `locomo`: its three conversations, each one memory; categories 1 (multi-hop) to 4, turn-level evidence.
- `memdaily`: each trajectory of 01 and 02 is one memory together with 1,000 unrelated turns, put at random moments
  of its days into the same sessions: the turns of MemoryBank's Chinese users and their assistant. `--skip` leaves out
  the first trajectories of each file: the recipe was chosen on six.
- `languages`: lines in English and in Chinese in one memory, and questions in the other language or in their own
  (`data/across_languages_*.tsv`, written for it); `--part tune` asks those that the weight of the glossary was chosen
  on. The lines of both parts are in the memory.

`--cross-validate` asks LoCoMo with every recipe of a grid around the one that is served and adds `cross-validated`:
each conversation's questions as answered by the recipe that is best on all other conversations. Predicted: a point or
two below `served`, whose weights were looked at on all of them.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.retrieval.corpora import Corpus, Question, read_corpora
from benchmarks.retrieval.cross_validation import GRID, Outcome, choose_on_others
from benchmarks.retrieval.reranking import KeptEncoder, NothingExtractor
from jiyi.conversations import read_conversations
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.retrieval.fusion import CONVERSATION, ENTITY_MEMORY, FusionRecipe
from memory.retrieval.retriever import HybridRetriever
from memory.values.hits import HitKind, SearchRequest
from memory.values.ids import memory_id
from memory.values.records import Resource
from memory.values.understanding.dialogue import Role
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.language_gaps import language_gaps
from models.assets.prepare import prepare_model
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine
from storage.edge.vectors import EdgeVectors
from storage.inmemory.record import InMemoryRecord

RECIPES: Mapping[str, FusionRecipe] = {"plain": ENTITY_MEMORY, "served": CONVERSATION}
_CUTS = {"languages": (10, 16)}
_OTHER_CUTS = (5, 10)
"""Hits of which recall is measured; the answer reader reads 16 lines."""
_UNRELATED = 1_000
_LONG_AFTER = timedelta(days=365)
_MARGIN = timedelta(hours=8)
_SETS = ("locomo", "memdaily", "languages")
_RESAMPLES = 2_000
_LANGUAGE_PARTS = ("tune", "report")
_LINES_OF_SESSION = 6
_FIRST, _BETWEEN = datetime(2026, 1, 5, 9, tzinfo=UTC), timedelta(hours=5)
_FEW = 10
"""Conversations up to which each is shown."""


def memdaily(data: Path, *, skip: int, take: int) -> Iterator[Corpus]:
    """The trajectories of each file, each mixed with unrelated turns."""
    recorded = read_conversations(data / "memory" / "memorybank" / "memory_bank_cn.json")
    unrelated = [(turn.role, turn.content) for conversation in recorded for turn in conversation.turns][:_UNRELATED]
    for path in sorted((data / "memory" / "memdaily_zh").glob("*.json")):
        for item in json.loads(path.read_text(encoding="utf-8"))[skip : skip + take]:
            user = f"{path.stem}-{item['tid']}"
            resources = _mixed_resources(
                user, [(_moment(message["time"]), message) for message in item["message_list"]], unrelated
            )
            questions = [
                Question(
                    question["question"], frozenset(str(step) for step in question["target_step_id"]), user, path.stem
                )
                for question in item["question_list"]
            ]
            yield Corpus("memdaily", user, resources, questions)


def across_languages(part: str) -> Corpus:
    """Lines of both languages in one memory, with the questions of a part; their kind says in which languages."""
    rows = [
        (name, *row.split("\t"))
        for name in _LANGUAGE_PARTS
        for row in files(__package__).joinpath("data", f"across_languages_{name}.tsv").read_text("utf-8").splitlines()
    ]
    order = random.Random(1).sample(range(len(rows)), len(rows))
    resources = [
        Resource(
            resource_id=str(number),
            user_id="languages",
            session_id=f"session-{place // _LINES_OF_SESSION}",
            role=Role.USER,
            content=rows[number][3],
            created_at=_FIRST + place * _BETWEEN,
        )
        for place, number in enumerate(order)
    ]
    questions = [
        Question(question, frozenset({str(number)}), str(number), f"{asked[:2]} → {said[:2]}")
        for number, (name, said, asked, _, question) in enumerate(rows)
        if name == part
    ]
    return Corpus("languages", "languages", resources, questions)


def _moment(written: str) -> datetime:
    """Parses a time such as 2024年04月01日 周一 08:38."""
    day, _, clock = written.split()
    return datetime.strptime(f"{day} {clock}", "%Y年%m月%d日 %H:%M").replace(tzinfo=UTC)


def _mixed_resources(
    user: str, messages: Sequence[tuple[datetime, dict[str, Any]]], unrelated: Sequence[tuple[str, str]]
) -> list[Resource]:
    """Messages and unrelated turns as resources, in the order of time; each day is a session."""
    rng = random.Random(f"1-{user}")
    first, last = min(at for at, _ in messages) - _MARGIN, max(at for at, _ in messages) + _MARGIN
    moments = sorted(first + (last - first) * rng.random() for _ in unrelated)
    turns = [(at, str(message["mid"]), "user", message["message"]) for at, message in messages]
    turns += [(at, f"unrelated-{i}", *turn) for i, (at, turn) in enumerate(zip(moments, unrelated, strict=True))]
    return [
        Resource(
            resource_id=id_,
            user_id=user,
            session_id=at.date().isoformat(),
            role=Role(role),
            content=content,
            created_at=at,
        )
        for at, id_, role, content in sorted(turns)
    ]


async def ask(corpus: Corpus, encoder: KeptEncoder, folder: Path, recipes: Mapping[str, FusionRecipe]) -> list[Outcome]:
    """Stores a corpus and asks its questions with every recipe."""
    record, analyzer = InMemoryRecord(), KeywordAnalyzer()
    index = EdgeVectors.open(folder, model_id=encoder.model_id, dimension=encoder.dimension)
    learner = Learner(
        record=record,
        extractor=NothingExtractor(),
        indexer=Indexer(record=record, spaces=OneSpace(encoder=encoder, index=index), analyzer=analyzer),
    )
    await record.append(corpus.resources, user_id=corpus.user)
    await learner.learn(user_id=corpus.user)
    gap = language_gaps()[encoder.model_id]
    retrievers = {
        name: HybridRetriever(encoder=encoder, index=index, record=record, analyzer=analyzer, recipe=recipe, gap=gap)
        for name, recipe in recipes.items()
    }
    now = max(resource.created_at for resource in corpus.resources) + _LONG_AFTER
    cuts = _CUTS.get(corpus.data_set, _OTHER_CUTS)
    outcomes = []
    for question in corpus.questions:
        request = SearchRequest(
            query=question.text, user_id=corpus.user, top_k=cuts[-1], kinds=(HitKind.MEMORY,), now=now
        )
        gold = {memory_id(corpus.user, resource) for resource in question.gold}
        await next(iter(retrievers.values())).search(request)  # fills the cache: encoding is in neither time
        for name, retriever in retrievers.items():
            began = time.perf_counter()
            found = [hit.id for hit in (await retriever.search(request)).hits]
            took_ms = (time.perf_counter() - began) * 1e3
            recalls = tuple(len(gold.intersection(found[:cut])) / len(gold) for cut in cuts)
            outcomes.append(Outcome(corpus.user, question.kind, name, recalls, took_ms))
    await index.close()
    return outcomes


def figures(outcomes: Sequence[Outcome], cuts: tuple[int, int] = _OTHER_CUTS) -> dict[str, Any]:
    """Mean recall in percent with its interval, by kind of question and conversation, and the median time of a search.

    What does not name the fewer hits is of the more.
    """
    fewer, _ = cuts
    shares = np.array([outcome.recall for outcome in outcomes])
    drawn = np.random.default_rng(1).choice(shares, (_RESAMPLES, len(shares))).mean(axis=1)
    by_kind, by_conversation = defaultdict(list), defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.kind].append(outcome)
        by_conversation[outcome.conversation].append(outcome)
    named = {"conversations": _percents(by_conversation)} if len(by_conversation) <= _FEW else {}
    return {
        "questions": len(outcomes),
        "recall": round(100 * float(shares.mean()), 1),
        "interval": [round(100 * float(end), 1) for end in np.quantile(drawn, [0.025, 0.975])],
        "kinds": _percents(by_kind),
        f"recall_at_{fewer}": _percent([outcome.recalls[0] for outcome in outcomes]),
        f"kinds_at_{fewer}": {kind: _percent([each.recalls[0] for each in of]) for kind, of in sorted(by_kind.items())},
        "search_p50_ms": round(float(np.median([outcome.took_ms for outcome in outcomes])), 1),
    } | named


def _percents(groups: Mapping[str, Sequence[Outcome]]) -> dict[str, float]:
    return {name: _percent([outcome.recall for outcome in group]) for name, group in sorted(groups.items())}


def _percent(shares: Sequence[float]) -> float:
    return round(100 * float(np.mean(shares)), 1)


async def measure(
    corpora: Sequence[Corpus], encoder: KeptEncoder, recipes: Mapping[str, FusionRecipe] = RECIPES
) -> list[Outcome]:
    """Asks all corpora, each with an index of its own, and saves the cache of vectors after each."""
    outcomes: list[Outcome] = []
    for corpus in track(corpora, "memories", disable=not sys.stderr.isatty(), console=Console(stderr=True)):
        with tempfile.TemporaryDirectory() as folder:
            outcomes += await ask(corpus, encoder, Path(folder), recipes)
        encoder.save()
    return outcomes


def _show(report: Mapping[str, Mapping[str, Any]]) -> None:
    table = Table("set", "recipe", "questions", "recall of fewer", "recall", "95%", "by kind", "search, p50")
    for data_set, recipes in report.items():
        fewer, more = _CUTS.get(data_set, _OTHER_CUTS)
        for name, row in recipes.items():
            kinds = ", ".join(f"{kind} {share}" for kind, share in row["kinds"].items())
            interval = "–".join(str(end) for end in row["interval"])
            cells = [
                str(row["questions"]),
                f"@{fewer} {row[f'recall_at_{fewer}']}",
                f"@{more} {row['recall']}",
                interval,
                kinds,
                f"{row['search_p50_ms']} ms",
            ]
            table.add_row(data_set, name, *cells)
    Console().print(table)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--models", type=Path, required=True, help="folder of prepared weights")
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps vectors between runs")
    parser.add_argument("--sets", nargs="*", choices=_SETS, default=_SETS)
    parser.add_argument("--skip", type=int, default=6, help="MemDaily trajectories of each file to leave out")
    parser.add_argument("--take", type=int, default=20, help="MemDaily trajectories of each file")
    parser.add_argument("--part", choices=_LANGUAGE_PARTS, default="report", help="questions across languages")
    parser.add_argument(
        "--cross-validate", action="store_true", help="choose recipes on the other conversations of LoCoMo"
    )
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    folder = prepare_model(DEFAULT_MODEL, arguments.models)
    engine = SentenceTransformerEngine(get_model(DEFAULT_MODEL), folder, threads=arguments.threads)
    report: dict[str, dict[str, Any]] = {}
    for name in arguments.sets:
        if name == "locomo":
            corpora = [corpus for corpus in read_corpora(arguments.data) if corpus.data_set == "locomo"]
        elif name == "languages":
            corpora = [across_languages(arguments.part)]
        else:
            corpora = list(memdaily(arguments.data, skip=arguments.skip, take=arguments.take))
        encoder = KeptEncoder(engine, arguments.cache / f"{name}.npz")
        crosses = arguments.cross_validate and name == "locomo"
        outcomes = asyncio.run(measure(corpora, encoder, {**RECIPES, **GRID} if crosses else RECIPES))
        report[name] = {
            recipe: figures([outcome for outcome in outcomes if outcome.recipe == recipe], _CUTS.get(name, _OTHER_CUTS))
            for recipe in RECIPES
        }
        if crosses:
            chosen = choose_on_others([outcome for outcome in outcomes if outcome.recipe in GRID])
            of_chosen = [outcome for outcome in outcomes if chosen[outcome.conversation] == outcome.recipe]
            report[name]["cross-validated"] = figures(of_chosen) | {"chosen": chosen}
    _show(report)
    print(json.dumps(report, ensure_ascii=False))


if __name__ == "__main__":
    main()
