"""Measures a reranker beside the fused retrieval and the best that any reranker could do.

    python -m training.reranker.evaluate POOLS [--weights FILE | --hub ID] [--cache MODELS]

POOLS is the folder with the `pools.jsonl` of `python -m benchmarks.retrieval.reranking`. FILE is a checkpoint of
training, the file that ships, or `untrained`. Without a model: the fused ranking and the ceiling alone. Prints a table
and, last, one JSON line. `--weight auto` chooses the share of the reranker's score on the tuning part, never on the
report part; LoCoMo, which has no tuning part, gets the share that is best on the other sets.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from models.body.gate import has_fast_bf16
from models.reranker.hub import HubCrossEncoder
from models.reranker.late_interaction import LateInteraction
from models.reranker.network import RerankerShape
from models.reranker.scorer import QueryPassage, probability
from models.reranker.scoring import score_all, token_vectors

from ..shared.data_sets import Part
from ..shared.metrics import Interval
from .metrics import MEASURES, interval, perfect, reordered
from .networks import load_checkpoint
from .pools import SHARES, Pool, read_pools
from .train import SETS

_SHARES = tuple(number / 10 for number in range(11))
_REMEMBERED_TOKENS = 1_000_000
_FEWEST_QUESTIONS = 30
_KINDS = {"1": "multi-hop", "2": "temporal", "3": "open", "4": "single-hop"}

Scorer = Callable[[Sequence[QueryPassage]], list[float]]


def main() -> None:
    """Prints the table and, last, one JSON line."""
    arguments = _arguments()
    score = _scorer(arguments)
    report: dict[str, Any] = {"candidates": arguments.candidates}
    questions = {part: _sampled(arguments, part) for part in (Part.TUNE, Part.REPORT)}
    weight = 0.0
    if score is not None:
        weight = float(arguments.weight) if arguments.weight != "auto" else 0.0
        if arguments.weight == "auto":
            tuning = [pool for name in SETS for pool in questions[Part.TUNE].get(name, [])]
            tuned = [_scores(pool, score, arguments.candidates) for pool in track(tuning, "tuning part")]
            weight = best_share(tuning, tuned)
            report["tuning part by weight"] = _by_weight(tuning, tuned)
        report["weight"] = weight
    table = Table("set", "questions", "ranking", *MEASURES)
    for name, pools in questions[Part.REPORT].items():
        started = time.monotonic()
        scored = [_scores(pool, score, arguments.candidates) for pool in track(pools, name)] if score else None
        if scored is not None:
            report.setdefault("ms_a_question", {})[name] = round(1e3 * (time.monotonic() - started) / len(pools), 1)
        rankings = rankings_of(pools, scored, weight, arguments.candidates)
        _add(table, report, name, pools, rankings)
        if scored is not None:
            report[name]["by weight"] = _by_weight(pools, scored)
        for kind in sorted({pool.kind for pool in pools if pool.kind in _KINDS}):
            numbers = [number for number, pool in enumerate(pools) if pool.kind == kind]
            of_kind = {ranking: [flags[number] for number in numbers] for ranking, flags in rankings.items()}
            _add(table, report, f"{name}: {_KINDS[kind]}", [pools[number] for number in numbers], of_kind)
        if arguments.errors is not None and scored is not None:
            _write_errors(arguments.errors / f"{name}.jsonl", pools, scored, rankings)
    Console(width=150).print(table)
    sys.stdout.write(json.dumps(report) + "\n")


def rankings_of(
    pools: Sequence[Pool], scored: Sequence[Sequence[float]] | None, weight: float, candidates: int
) -> dict[str, list[list[bool]]]:
    """The gold flags of each question under each ranking, best first."""
    rankings = {
        "served": [list(pool.served) for pool in pools],
        "fused": [[candidate.gold for candidate in pool.candidates] for pool in pools],
    }
    if scored is not None:
        scored_pools = list(zip(pools, scored, strict=True))
        rankings["reranker alone"] = [reordered(pool, scores, 1.0) for pool, scores in scored_pools]
        rankings[f"blended {weight:.1f}"] = [reordered(pool, scores, weight) for pool, scores in scored_pools]
    rankings["perfect"] = [perfect(pool, candidates) for pool in pools]
    return rankings


def best_share(pools: Sequence[Pool], scored: Sequence[Sequence[float]]) -> float:
    """The share of the reranker's score with the best nDCG@10, averaged over the sets; the smallest of equals.

    Sets of fewer than `_FEWEST_QUESTIONS` have no say, unless all are so small.
    """
    counts = Counter(pool.data_set for pool in pools)
    large = [name for name, count in counts.items() if count >= _FEWEST_QUESTIONS]
    names = sorted(large or counts)

    def quality(weight: float) -> float:
        values_by_set: dict[str, list[float]] = {name: [] for name in names}
        for pool, scores in zip(pools, scored, strict=True):
            if pool.data_set in values_by_set:
                values_by_set[pool.data_set].append(MEASURES["nDCG@10"](reordered(pool, scores, weight), pool.gold))
        return round(float(np.mean([np.mean(values) for values in values_by_set.values()])), 6)

    return max(_SHARES, key=quality)


def _by_weight(pools: Sequence[Pool], scored: Sequence[Sequence[float]]) -> dict[str, dict[str, float]]:
    """Every share, for those who want to see how much hangs on it; nothing is chosen by this."""
    table: dict[str, dict[str, float]] = {}
    for weight in _SHARES:
        flags = [reordered(pool, scores, weight) for pool, scores in zip(pools, scored, strict=True)]
        for label, measure in MEASURES.items():
            values = [measure(ranking, pool.gold) for ranking, pool in zip(flags, pools, strict=True)]
            table.setdefault(str(weight), {})[label] = round(100 * float(np.mean(values)), 2)
    return table


def _scores(pool: Pool, score: Scorer, candidates: int) -> list[float]:
    return score([(pool.question, candidate.text) for candidate in pool.candidates[:candidates]])


def _add(
    table: Table, report: dict[str, Any], name: str, pools: Sequence[Pool], rankings: dict[str, list[list[bool]]]
) -> None:
    groups = [pool.group for pool in pools]
    before = rankings["served"]
    report[name] = {"questions": len(pools)}
    for ranking, flags in rankings.items():
        cells: list[str] = []
        figures: dict[str, Any] = {}
        for label, measure in MEASURES.items():
            values = [100 * measure(ranking, pool.gold) for ranking, pool in zip(flags, pools, strict=True)]
            cell = f"{np.mean(values):.1f}"
            figures[label] = round(float(np.mean(values)), 2)
            if ranking not in ("served", "perfect"):
                base = [100 * measure(ranking, pool.gold) for ranking, pool in zip(before, pools, strict=True)]
                gain = interval([a - b for a, b in zip(values, base, strict=True)], groups)
                cell += _shown(gain)
                figures[f"{label} gain"] = [round(gain.value, 2), round(gain.low, 2), round(gain.high, 2)]
            cells.append(cell)
        table.add_row(name, str(len(pools)), ranking, *cells)
        report[name][ranking] = figures


def _shown(gain: Interval) -> str:
    return f" ({gain.value:+.1f}: {gain.low:+.1f} to {gain.high:+.1f})"


def _write_errors(
    path: Path, pools: Sequence[Pool], scored: Sequence[Sequence[float]], rankings: dict[str, list[list[bool]]]
) -> None:
    """Writes the questions that the reranker made worse, with the candidates that it put first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for number, (pool, scores) in enumerate(zip(pools, scored, strict=True)):
            before, after = (
                MEASURES["nDCG@10"](rankings[ranking][number], pool.gold) for ranking in ("served", "reranker alone")
            )
            if after < before:
                best = int(np.argmax(scores))
                gold = [(n, pool.candidates[n].text) for n in range(len(scores)) if pool.candidates[n].gold]
                file.write(
                    json.dumps(
                        {
                            "question": pool.question,
                            "before": round(before, 3),
                            "after": round(after, 3),
                            "first": {"text": pool.candidates[best].text, "score": round(scores[best], 3)},
                            "gold": [{"text": text, "score": round(scores[n], 3)} for n, text in gold],
                        },
                        ensure_ascii=False,
                    )
                    + "\n"
                )


def _sampled(arguments: argparse.Namespace, part: Part) -> dict[str, list[Pool]]:
    """Samples every n-th question of each set in a part, at most `--limit` of a set."""
    pools = list(read_pools(arguments.pools / "pools.jsonl", part))
    samples = {}
    for name in arguments.sets or SHARES:
        questions = [pool for pool in pools if pool.data_set == name]
        step = max(1, -(-len(questions) // arguments.limit)) if arguments.limit else 1
        if questions:
            samples[name] = questions[::step]
    return samples


def _scorer(arguments: argparse.Namespace) -> Scorer | None:
    import torch

    torch.set_num_threads(arguments.threads)
    if arguments.hub:
        return HubCrossEncoder(arguments.hub, arguments.cache, device=arguments.device).score
    if arguments.weights is None:
        return None
    if arguments.weights.suffix == ".safetensors":
        return LateInteraction(arguments.weights, arguments.cache, device=arguments.device).score
    reranker = load_checkpoint(arguments.weights, arguments.cache, layers=arguments.layers)
    if has_fast_bf16():
        reranker.network.body.to(torch.bfloat16)  # as it is served
    reranker.network.to(arguments.device)
    cache = token_vectors(_REMEMBERED_TOKENS)

    def score(pairs: Sequence[QueryPassage]) -> list[float]:
        tokens = [pair_tokens for query, text in pairs for pair_tokens in reranker.reader.read(query, [text])]
        logits = score_all(reranker.network, tokens, pad_id=reranker.pad_id, cache=cache)
        return [probability(logit) for logit in logits]

    return score


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures a reranker beside the fused retrieval.")
    parser.add_argument("pools", type=Path, help="folder with pools.jsonl")
    parser.add_argument("--weights", type=Path, help="a checkpoint, the file that ships, or `untrained`")
    parser.add_argument("--layers", type=int, default=RerankerShape().layers, help="of an untrained network")
    parser.add_argument("--hub", default="", help="a cross-encoder of the hub instead")
    parser.add_argument("--cache", type=Path, help="folder of prepared models")
    parser.add_argument("--sets", nargs="*", default=[], help="all unless named")
    parser.add_argument("--limit", type=int, default=0, help="questions of a set, about; 0 for all")
    parser.add_argument("--candidates", type=int, default=50, help="how many are reranked")
    parser.add_argument("--weight", default="auto", help="share of the reranker's score, or auto")
    parser.add_argument("--errors", type=Path, help="gets the questions that became worse, one file a set")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


if __name__ == "__main__":
    main()
