"""Trains the reader's intents alone, on the body as it is: what else the reader finds stays to the bit.

    python -m training.reader.intents --corpus FOLDER … --weights FILE --cache MODELS --out FILE.safetensors

Learns from the `messages` and `intents` folders of the corpora, and from the queries of `references`, of which the
reader itself says what they are for. Keeps the pass that is best on the messages of the tuning part. Minutes on a CPU.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from memory.values.understanding.readings import Intent, ReadRequest
from models.batching.engine import padded_batches
from models.body.network_parts import evaluating
from models.reader.inference import collate
from models.reader.network import NO_SOURCE, ReaderNetwork

from ..shared.data_sets import Part
from ..shared.weight_files import replace_weights
from .corpus import MarkedMessage, read_intents, read_messages, read_queries
from .corpus_mix import in_lower_case
from .examples import request_of
from .metrics import share_of_f1
from .networks import LoadedReader, load_shipped

_HEAD = ("intent_hidden.weight", "intent_hidden.bias", "intent_score.weight", "intent_score.bias")
_BATCH_TOKENS = 4096
_BATCH_ROWS = 128
_UNRELATED, _MOST_UNRELATED, _LOWER = 0.4, 3, 0.15
_RATE, _DECAY = 4e-4, 0.02


@dataclass(frozen=True, slots=True)
class Summaries:
    """Messages as the head reads them: `vectors` (messages, 2 * hidden), `labels` (messages, intents) of 0 and 1."""

    vectors: Tensor
    labels: Tensor


def main() -> None:
    """Trains and writes the file."""
    parser = argparse.ArgumentParser(description="Trains the reader's intents alone.")
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of chat corpora")
    parser.add_argument("--weights", type=Path, required=True, help="the file whose intents are trained")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    loaded = load_shipped(arguments.weights, arguments.cache)
    rows = [*read_messages(arguments.corpus, Part.TRAIN), *read_intents(arguments.corpus, Part.TRAIN)]
    queries = taught_queries(loaded, arguments.corpus)
    learned = summarise(loaded, varied([*rows, *queries], random.Random(arguments.seed)))
    tuned = [*read_messages(arguments.corpus, Part.TUNE), *read_intents(arguments.corpus, Part.TUNE)]
    weights = train_head(loaded, learned, summarise(loaded, tuned), epochs=arguments.epochs)
    size = replace_weights(arguments.weights, weights, loaded.settings, arguments.out)
    sys.stdout.write(f"{arguments.out}: {size / 1e6:.2f} MB\n")


def taught_queries(loaded: LoadedReader, corpus: Sequence[Path]) -> list[MarkedMessage]:
    """The queries of the corpora as messages, after their history, with the intents that the reader finds alone."""
    queries = read_queries(corpus, Part.TRAIN)
    readings = loaded.read([request_of(query.query) for query in queries])
    return [
        MarkedMessage(
            query.id, query.language, query.turns, query.query, (), tuple(intent for intent, _ in reading.intents), ()
        )
        for query, reading in zip(queries, readings, strict=True)
    ]


def varied(messages: Sequence[MarkedMessage], rng: random.Random) -> list[MarkedMessage]:
    """The messages, and each once more: some in lower case, some after messages that have nothing to do with them."""
    of_language: dict[str, list[str]] = {}
    for message in messages:
        of_language.setdefault(message.language, []).append(message.text)
    variations = []
    for message in messages:
        other = in_lower_case(message) if message.language == "en" and rng.random() < _LOWER else message
        if rng.random() < _UNRELATED:
            earlier = rng.choices(of_language[message.language], k=rng.randint(1, _MOST_UNRELATED))
            other = replace(other, turns=(*earlier, *other.turns))
        variations.append(other)
    return [*messages, *variations]


def summarise(loaded: LoadedReader, messages: Sequence[MarkedMessage]) -> Summaries:
    """Runs the body over the first window of each message."""
    requests: list[ReadRequest] = [request_of(message.text, message.turns) for message in messages]
    windows = [(at, loaded.reader.read(request)[0]) for at, request in enumerate(requests)]
    vectors = torch.zeros(len(messages), 2 * loaded.network.shape.hidden)
    with evaluating(loaded.network):
        for batch in padded_batches(windows, lambda item: item[1].token_count, max_tokens=_BATCH_TOKENS):
            rows = [window for _, window in batch]
            tensors = collate(rows, [NO_SOURCE] * len(rows), pad_id=loaded.pad_id, span=loaded.network.shape.edits.span)
            summary = loaded.network.message_summary(loaded.network.states(tensors), tensors)
            vectors[[at for at, _ in batch]] = summary.float()
    labels = torch.tensor([[float(intent in message.intents) for intent in Intent] for message in messages])
    return Summaries(vectors, labels)


def train_head(
    loaded: LoadedReader, learned: Summaries, tuned: Summaries, *, epochs: int, rate: float = _RATE
) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """The head's parameters after the pass that is best on the tuning rows; none may be better than all before."""
    network = loaded.network
    parameters = {name: value for name, value in network.named_parameters() if name in _HEAD}
    for parameter in parameters.values():
        parameter.requires_grad_(True)
    optimizer = torch.optim.AdamW(parameters.values(), lr=rate, weight_decay=_DECAY)
    steps = epochs * -(-len(learned.labels) // _BATCH_ROWS)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps, pct_start=0.1)
    best = _measured(network, tuned, loaded.settings.thresholds.intents)
    kept = {name: value.detach().float().numpy().copy() for name, value in parameters.items()}
    sys.stdout.write(f"before: {best:.2f}\n")
    for epoch in range(epochs):
        for rows in torch.randperm(len(learned.labels)).split(_BATCH_ROWS):
            dropped = functional.dropout(learned.vectors[rows], 0.1)
            loss = functional.binary_cross_entropy_with_logits(network.intent_scores(dropped), learned.labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        score = _measured(network, tuned, loaded.settings.thresholds.intents)
        sys.stdout.write(f"epoch {epoch + 1}: loss {loss.item():.4f}, F1 {score:.2f}\n")
        if score >= best:
            best = score
            kept = {name: value.detach().float().numpy().copy() for name, value in parameters.items()}
    return kept


def _measured(network: ReaderNetwork, tuned: Summaries, least: float) -> float:
    """F1 of the intents at the threshold that ships."""
    with torch.no_grad():
        found = network.intent_scores(tuned.vectors).sigmoid()
    best = found.argmax(dim=1)
    pairs = [
        (
            set(tuned.labels[row].nonzero()[:, 0].tolist()),
            {int(best[row]), *(found[row] >= least).nonzero()[:, 0].tolist()},
        )
        for row in range(len(found))
    ]
    return share_of_f1(pairs)


if __name__ == "__main__":
    main()
