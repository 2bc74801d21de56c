"""Trains the reranker.

    python -m training.reranker.train POOLS --out DIR --cache MODELS [--resume]

POOLS is the folder with the `pools.jsonl` of `python -m benchmarks.retrieval.reranking`, MODELS holds the prepared
body. DIR gets `checkpoint.pt` (every few minutes), `log.jsonl` and `curve.png`. A run that was
killed or suspended continues with `--resume`. Seeded. `--sets open` leaves out the sets without a stated licence.
On a GPU: `--device cuda --workers 1 --batch-tokens 16384`.
"""

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from models.reranker.network import RerankerNetwork, RerankerShape

from ..shared.data_sets import Part, choose_sets
from ..shared.learning_curve import Curve
from ..shared.loop import chosen_options, start, train_all, training_parser
from ..shared.run import Task
from .metrics import ndcg, reordered
from .mix import Choice, RerankingMix, RerankingOptions, RerankingShare, choice_loss, collate_choices
from .networks import LoadedReranker, build
from .pools import Pool, read_pools

SETS = {"drcd": True, "cmrc2018": True, "canard": True, "memdaily": False}
"""The training sets, and whether their licence allows any use: CC BY-SA 3.0, 4.0 and 4.0, none stated."""

_TUNING_QUESTIONS = 40
_TUNING_CANDIDATES = 10


def main() -> None:
    """Runs or resumes the training."""
    parser = training_parser("Trains the reranker.", "pools", RerankingOptions)
    parser.add_argument("--layers", type=int, default=RerankerShape().layers, help="of the body that are used")
    arguments = start(parser)
    try:
        weights = choose_sets(SETS, arguments.sets)
    except ValueError as error:
        sys.exit(str(error))
    reranker = build(arguments.cache, RerankerShape(layers=arguments.layers), attention=arguments.attention)
    pools = list(read_pools(arguments.data / "pools.jsonl", Part.TRAIN))
    shares = [
        RerankingShare([pool for pool in pools if pool.data_set == name], weight) for name, weight in weights.items()
    ]
    tuning = list(read_pools(arguments.data / "pools.jsonl", Part.TUNE))
    by_set = {name: [pool for pool in tuning if pool.data_set == name][:_TUNING_QUESTIONS] for name in SETS}
    mix = RerankingMix(shares, reranker.reader, chosen_options(RerankingOptions, arguments), seed=arguments.seed)
    train_all(
        reranker.network,
        reranking_task(mix, reranker.network.shape, reranker.pad_id),
        lambda: {name: tuning_scores(reranker, questions) for name, questions in by_set.items() if questions},
        Curve(("choice", "binary"), "nDCG@10", "nDCG@10 of the reranker alone"),
        arguments=arguments,
    )


def reranking_task(mix: RerankingMix, shape: RerankerShape, pad_id: int) -> Task[RerankerNetwork, Choice]:
    """Builds the task of a training run from the mix of training pools."""
    return Task(mix=mix, collate=partial(collate_choices, pad_id=pad_id), loss=choice_loss, shape=shape.model_dump())


def tuning_scores(reranker: LoadedReranker, pools: Sequence[Pool]) -> dict[str, float]:
    """Mean nDCG@10, in percent, of the first candidates as the reranker alone orders them, and as fusion does."""
    reranked, fused = [], []
    for pool in pools:
        scores = reranker.logits(pool.question, [hit.text for hit in pool.candidates[:_TUNING_CANDIDATES]])
        reranked.append(ndcg(reordered(pool, scores, 1.0), pool.gold))
        fused.append(ndcg([hit.gold for hit in pool.candidates], pool.gold))
    return {"nDCG@10": round(100 * float(np.mean(reranked)), 2), "fused": round(100 * float(np.mean(fused)), 2)}


if __name__ == "__main__":
    main()
