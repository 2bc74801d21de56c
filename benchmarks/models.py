"""The trained models against one raw encode of the same tokens, and the memory that their replicas share.

Theory: a reading is one pass of the same body over the same tokens, plus heads: products that are small beside the
body's for names and facts, and a beam over choices where something is rewritten, a dozen small steps that cost by their
number. In fp32 that is 1.3 to 1.5 times the raw encode; where the CPU multiplies bf16, whose products are three to four
times as fast, it is under one. The aim is at most 1.2 (issue 15). An answer is read in one pass over the question and
all its lines, so it costs what their tokens cost.

Memory: the matrices are mapped, so a second replica adds what is not: torch, the tokenizer, activations.

    python -m benchmarks.models --cache FOLDER [--weights FOLDER] [--threads 1] [--rounds 15] [--memory]

Each message is computed by the model and, right before and after, by the raw encoder (fp32, sentence-transformers) from
the very same token ids; ratios are of these pairs, so that a machine that others use meanwhile disturbs both alike.
`--memory` starts two replicas of each model instead and shows what each process owns and shares. The last line is JSON.
"""

import argparse
import json
import multiprocessing
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.workload import SENTENCES, seconds
from memory.ports.models.answer_reading import AnswerReadRequest, DatedLine
from memory.values.evidence import ANSWERS
from memory.values.understanding.readings import Context, ReadRequest
from models.answers.reader import TrainedAnswerReader
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.assets.weight_files import shipped_weight_file
from models.batching.batched_model import ModelFacts
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine
from models.encoder.text_tokenizer import TokenizedText
from models.reader.reader import TrainedReader
from models.reranker.late_interaction import LateInteraction

_TURNS = ("我們公司上個月跟宏康訂了一台 AI-Box。", "好的，已經記下來了。", "她昨天去台中看了新的倉庫。", "了解。")
_ASKED = ("它什麼時候會到？", "他说付款条件可以再谈吗？", "What did we agree on with them?", "那個倉庫有多大？")
_NOW = datetime(2026, 11, 1, tzinfo=UTC)
_MEMORY = re.compile(r"^(Pss|Pss_Anon|Pss_File|Shared_Clean):\s+(\d+) kB", re.MULTILINE)


class Contestant:
    """One model: its inputs, what the network reads of each, and how it computes one.

    Args:
        model: Trained.
        inputs: Chat messages in the form that the model takes.
        ids_of: The token ids that the network reads of a prepared input.
    """

    def __init__(
        self, model: Any, inputs: Sequence[Any], ids_of: Callable[[Any], Sequence[np.ndarray[Any, Any]]]
    ) -> None:
        self._model = model
        self.inputs = inputs
        self._ids_of = ids_of

    def load(self) -> ModelFacts:
        """Reads the weights."""
        facts: ModelFacts = self._model.load()
        return facts

    def run(self, value: Any) -> None:
        """Computes one input from scratch."""
        self._model.forward(self._model.prepare([value]))

    def tokens(self, value: Any) -> list[TokenizedText]:
        """The token ids of an input, as the raw encoder takes them."""
        [prepared] = self._model.prepare([value])
        return [TokenizedText(np.asarray(ids, np.int64)) for ids in self._ids_of(prepared)]


def contestants(weights: Path | None, cache: Path, threads: int) -> dict[str, Contestant]:
    """The models whose weights are there."""
    queries = [ReadRequest(text=query, context=Context(turns=_TURNS[:turns])) for query in _ASKED for turns in (2, 4)]
    messages = [ReadRequest(text=sentence) for sentence in SENTENCES]
    pairs = [(query, sentence) for query, sentence in zip(_ASKED, SENTENCES, strict=False)]
    lines = [
        DatedLine(text=sentence, said_at=_NOW - timedelta(days=age))
        for age, sentence in enumerate(islice(cycle(SENTENCES), ANSWERS.lines))
    ]
    questions = [AnswerReadRequest(question=query, lines=tuple(lines), now=_NOW) for query in _ASKED]
    makers: dict[str, Callable[[Path], Contestant]] = {
        "reader": lambda file: Contestant(
            TrainedReader(file, cache, threads=threads),
            [*queries, *messages],
            lambda prepared: [window.input_ids for window in prepared.windows],
        ),
        "answers": lambda file: Contestant(
            TrainedAnswerReader(file, cache, threads=threads), questions, lambda prepared: [prepared.input_ids]
        ),
        "reranker": lambda file: Contestant(
            LateInteraction(file, cache, threads=threads), pairs, lambda prepared: [prepared.query, prepared.passage]
        ),
    }
    return {name: make(file) for name, make in makers.items() if (file := shipped_weight_file(name, weights)).exists()}


def main() -> None:
    """Runs the benchmark and prints a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--weights", type=Path, help="folder with weight files; the shipped ones without it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    measure = _memory if arguments.memory else _latency
    result = measure(arguments)
    if not result:
        sys.exit("there are no weight files")
    _show(result)
    print(json.dumps({"benchmark": "models", "threads": arguments.threads, **result}))


def _latency(arguments: argparse.Namespace) -> dict[str, Any]:
    folder = prepare_model(DEFAULT_MODEL, arguments.cache)
    raw = SentenceTransformerEngine(get_model(DEFAULT_MODEL), folder, threads=arguments.threads)
    results = {}
    for name, contestant in contestants(arguments.weights, arguments.cache, arguments.threads).items():
        facts = contestant.load()
        mine: list[float] = []
        ratios: list[float] = []
        lengths: list[int] = []
        for number in range(arguments.rounds + 1):
            for value in contestant.inputs:
                tokens = contestant.tokens(value)
                before = seconds(lambda: raw.forward(tokens))  # noqa: B023 - called at once
                took = seconds(lambda: contestant.run(value))  # noqa: B023
                after = seconds(lambda: raw.forward(tokens))  # noqa: B023
                if number:  # the first round warms up
                    mine.append(took * 1e3)
                    ratios.append(took / statistics.mean((before, after)))
                    lengths.append(sum(text.token_count for text in tokens))
        results[name] = {
            "dtype": facts.dtype,
            "tokens": round(statistics.mean(lengths), 1),
            "p50_ms": round(statistics.median(mine), 1),
            "p95_ms": round(statistics.quantiles(mine, n=20)[-1], 1),
            "p50_over_raw": round(statistics.median(ratios), 2),
            "p95_over_raw": round(statistics.quantiles(ratios, n=20)[-1], 2),
        }
    return results


def _memory(arguments: argparse.Namespace) -> dict[str, Any]:
    """Starts replica after replica, all models twice; all of them live while the shares are read."""
    context = multiprocessing.get_context("spawn")
    names = [name for name in ("reader", "reranker") if shipped_weight_file(name, arguments.weights).exists()]
    started = []
    for name in (*names, *names):
        ours, theirs = context.Pipe()
        process = context.Process(target=_replica, args=(theirs, name, arguments.weights, arguments.cache))
        process.start()
        theirs.close()  # so that a replica that died is noticed
        ours.recv()
        started.append((name, process, ours))
    results: dict[str, Any] = {}
    for place, (name, process, _) in enumerate(started):
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
        figures = {key.lower(): round(int(value) / 1024) for key, value in _MEMORY.findall(text)}
        figures["mapped_weights_pss"] = _mapped_weights(process.pid)
        results[f"{name}_{place // max(1, len(names)) + 1}"] = figures
    for _, process, ours in started:
        ours.send(None)
        process.join()
    return results


def _replica(pipe: Connection, name: str, weights: Path | None, cache: Path) -> None:
    contestant = contestants(weights, cache, 1)[name]
    contestant.load()
    for value in contestant.inputs:
        contestant.run(value)
    pipe.send(None)
    pipe.recv()


def _mapped_weights(pid: int | None) -> int:
    """This process's share of the mapped weight files, in MiB."""
    share, inside = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"^[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(".safetensors")
        elif inside and line.startswith("Pss:"):
            share += int(line.split()[1])
    return round(share / 1024)


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    columns = list(next(iter(result.values())))
    table = Table("", *columns)
    for name, figures in result.items():
        table.add_row(name, *(str(figures[column]) for column in columns))
    Console().print(table)


if __name__ == "__main__":
    main()
