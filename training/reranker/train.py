"""Trains the reranker.

    python -m training.reranker.train POOLS --out DIR --cache MODELS [--resume]

POOLS is the folder with the `pools.jsonl` of `python -m benchmarks.retrieval.reranking`, MODELS holds the prepared
body. DIR
gets `checkpoint.pt` (every few minutes), `log.jsonl` and `curve.png`. Killed or suspended at any time, the run goes on
with `--resume`. Seeded. `--sets open` leaves out what has no stated licence.
On a GPU: `--device cuda --workers 1 --batch-tokens 16384`.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np

from models.reranker.network import RerankerNetwork, RerankerShape
from models.reranker.pairs import PairReader, pad_id_of
from models.reranker.scoring import score_all

from ..shared.body import trainable_body
from ..shared.learning_curve import Curve
from ..shared.loop import chosen_options, prepare_torch, train_all, training_parser
from ..shared.run import RunOptions, Task, TrainingRun
from .metrics import ndcg, reordered
from .mix import Choice, Mix, MixOptions, Share, choice_loss, collate_choices
from .pools import Part, Pool, read_pools

OPEN_SETS = ("drcd", "cmrc2018", "canard")
"""With a licence that allows what is done with them: CC BY-SA 3.0, CC BY-SA 4.0, CC BY-SA 4.0."""

SETS = (*OPEN_SETS, "memdaily")
_TUNING_QUESTIONS = 40
_TUNING_CANDIDATES = 10


def main() -> None:
    """Trains, or goes on training."""
    parser = training_parser("Trains the reranker.", "pools", MixOptions)
    parser.add_argument("--layers", type=int, default=RerankerShape().layers, help="of the body that are used")
    arguments = parser.parse_args()
    prepare_torch()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    attention = "eager" if arguments.device == "cpu" else "sdpa"
    network, reader, pad_id = build(arguments.cache, RerankerShape(layers=arguments.layers), attention=attention)
    try:
        weights = find_sets(arguments.sets)
    except ValueError as error:
        sys.exit(str(error))
    pools = list(read_pools(arguments.data / "pools.jsonl", Part.TRAIN))
    shares = [Share([pool for pool in pools if pool.data_set == name], weight) for name, weight in weights.items()]
    tuning = list(read_pools(arguments.data / "pools.jsonl", Part.TUNE))
    by_set = {name: [pool for pool in tuning if pool.data_set == name][:_TUNING_QUESTIONS] for name in SETS}
    mix = Mix(shares, reader, chosen_options(MixOptions, arguments), seed=arguments.seed)
    network.to(arguments.device)
    run = TrainingRun(
        network,
        reranking_task(mix, network.shape, pad_id),
        options=chosen_options(RunOptions, arguments),
        folder=folder,
        seed=arguments.seed,
    )
    train_all(
        run,
        lambda: {name: tuning_scores(network, reader, pad_id, some) for name, some in by_set.items() if some},
        Curve(("choice", "binary"), "nDCG@10", "nDCG@10 of the reranker alone"),
        arguments=arguments,
    )


def reranking_task(mix: Mix, shape: RerankerShape, pad_id: int) -> Task[RerankerNetwork, Choice]:
    """What a run learns."""
    return Task(mix=mix, collate=partial(collate_choices, pad_id=pad_id), loss=choice_loss, shape=shape.model_dump())


def find_sets(names: str) -> dict[str, float]:
    """Data sets by name with their weights.

    Args:
        names: `all`, `open`, or names with commas between, each with `:weight` if not 1.

    Raises:
        ValueError: A set is unknown.
    """
    if names in ("all", "open"):
        return dict.fromkeys(SETS if names == "all" else OPEN_SETS, 1.0)
    chosen = {}
    for one in names.split(","):
        name, _, weight = one.partition(":")
        if name not in SETS:
            raise ValueError(f"There is no set {name!r}: name some of {', '.join(SETS)}, or all, or open.")
        chosen[name] = float(weight or 1)
    return chosen


def build(cache: Path, shape: RerankerShape, *, attention: str = "sdpa") -> tuple[RerankerNetwork, PairReader, int]:
    """An untrained network on the prepared body, what reads text for it, and the token id of padding.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    from tokenizers import Tokenizer

    body, folder = trainable_body(cache, attention=attention)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return RerankerNetwork(body, shape), PairReader(tokenizer), pad_id_of(tokenizer)


def tuning_scores(network: RerankerNetwork, reader: PairReader, pad_id: int, pools: list[Pool]) -> dict[str, float]:
    """What the reranker alone makes of the first candidates, beside the fused ranking."""
    found, before = [], []
    for pool in pools:
        pairs = reader.read(pool.question, [one.text for one in pool.candidates[:_TUNING_CANDIDATES]])
        scores = score_all(network, pairs, pad_id=pad_id)
        found.append(ndcg(reordered(pool, scores, 1.0), pool.gold))
        before.append(ndcg([one.gold for one in pool.candidates], pool.gold))
    return {"nDCG@10": round(100 * float(np.mean(found)), 2), "fused": round(100 * float(np.mean(before)), 2)}


if __name__ == "__main__":
    main()
