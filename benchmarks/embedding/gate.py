"""The gate of the fast embedding path: does the served precision find what fp32 finds (DESIGN §5)?

Passages of DRCD (Traditional) and CMRC2018 (Simplified) dev, some of their questions, ranked by cosine alone. The
reference is the same engine in fp32, which tests hold to sentence-transformers within 2e-6. The gate: every vector's
cosine to its fp32 vector at least 0.99, and at most 0.5 point of nDCG@10 lost.

    python -m benchmarks.embedding.gate --cache FOLDER --data FOLDER [--questions 300] [--passages 1000]

The interval is over questions, by drawing whole articles again. The last line is JSON.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.retrieval.corpora import Corpus, read_corpora
from memory.ports.models.language import TextKind
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.encoder.bert_engine import BertEngine
from models.encoder.engine import EncoderEngine
from models.encoder.sentence_layout import read_layout
from training.reranker.metrics import DEPTH, interval, ndcg

_SETS = ("drcd", "cmrc2018")
_BITE = 64


def main() -> None:
    """Measures both sets and prints a line for each and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds `retrieval`")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--passages", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    folder = prepare_model(DEFAULT_MODEL, arguments.cache)
    layout = read_layout(folder)
    assert layout is not None
    entry, threads = get_model(DEFAULT_MODEL), arguments.threads
    exact = BertEngine(entry, folder, layout, threads=threads, is_exact=True)
    served = BertEngine(entry, folder, layout, threads=threads)
    results = {}
    for corpus in (corpus for corpus in read_corpora(arguments.data) if corpus.data_set in _SETS):
        result = _compare(exact, served, corpus, questions=arguments.questions, passages=arguments.passages)
        results[corpus.data_set] = result
        print(corpus.data_set, result, flush=True)
    print(json.dumps({"benchmark": "embedding_gate", "dtype": served.dtype, **results}))


def _compare(
    exact: EncoderEngine, served: EncoderEngine, corpus: Corpus, *, questions: int, passages: int
) -> dict[str, Any]:
    chooser = random.Random(11)
    kept = chooser.sample(corpus.resources, min(passages, len(corpus.resources)))
    ids = [resource.resource_id for resource in kept]
    answerable = [question for question in corpus.questions if question.gold <= set(ids)]
    chosen = chooser.sample(answerable, min(questions, len(answerable)))
    texts = [resource.content for resource in kept]
    gains, vectors = {}, {}
    for name, engine in (("fp32", exact), ("served", served)):
        found = _encode(engine, texts, TextKind.PASSAGE)  # (passages, dimension)
        queries = _encode(engine, [question.text for question in chosen], TextKind.QUERY)  # (questions, dimension)
        order = np.argsort(-(queries @ found.T), axis=1, kind="stable")[:, :DEPTH]
        gains[name] = np.array(
            [ndcg([ids[n] in question.gold for n in row], 1) for question, row in zip(chosen, order, strict=True)]
        )
        vectors[name] = np.concatenate([found, queries])
    cosines = (vectors["fp32"] * vectors["served"]).sum(axis=1)
    lost = interval((100 * (gains["fp32"] - gains["served"])).tolist(), [question.group for question in chosen])
    return {
        "passages": len(texts),
        "questions": len(chosen),
        "lowest_cosine": round(float(cosines.min()), 5),
        "ndcg_fp32": round(100 * float(gains["fp32"].mean()), 2),
        "ndcg_served": round(100 * float(gains["served"].mean()), 2),
        "lost": round(lost.value, 3),
        "lost_95": [round(lost.low, 3), round(lost.high, 3)],
        "questions_changed": int((gains["fp32"] != gains["served"]).sum()),
        "passed": bool(cosines.min() >= 0.99 and lost.value <= 0.5),
    }


def _encode(engine: EncoderEngine, texts: list[str], kind: TextKind) -> np.ndarray[Any, np.dtype[np.float32]]:
    from rich.progress import track

    bites = range(0, len(texts), _BITE)
    return np.concatenate(
        [engine.encode(texts[n : n + _BITE], kind) for n in track(bites, f"{engine.dtype} {kind}", transient=True)]
    )


if __name__ == "__main__":
    main()
