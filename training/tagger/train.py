"""Trains the tagger.

    python -m training.tagger.train DATA --out DIR --cache MODELS [--sets open] [--resume]

DATA is the folder of the data sets of names, MODELS holds the prepared body (`python -m models.assets.prepare`). DIR
gets
`checkpoint.pt` (every few minutes), `best.pt` (of the epoch that tuned best), `sources.json`, `log.jsonl` and
`curve.png`. Killed or suspended at any time, the run goes on with `--resume`. `--sets open` leaves out the sets whose
licence is missing or does not allow any use.
On a GPU: `--device cuda --workers 1 --batch-tokens 16384 --batch-rows 256`.
"""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from models.assets.compact_vocabulary import open_vocabulary
from models.body.edit_units import EditUnitTokenizer
from models.tagger.decoding import decode_labels, decode_names
from models.tagger.features import WindowReader
from models.tagger.inference import tag_all
from models.tagger.labels import LABELS, SUBTYPES
from models.tagger.network import TaggerNetwork, TaggerShape

from ..rewriter.data import Part
from ..shared.body import trainable_body
from ..shared.learning_curve import Curve
from ..shared.loop import chosen_options, prepare_torch, train_all, training_parser
from ..shared.run import RunOptions, Task, TrainingRun
from .chat_names import read_chat_names
from .examples import Evidence, TaggerExample, collate_tagging
from .loss import span_loss
from .mix import TaggingMix, TaggingOptions, TaggingShare
from .ner_chat import ChatWriter
from .ner_data import find_ner_sets, load_sets
from .ner_files import MarkedText
from .ner_scores import marked_labels, marked_names, score_labels, score_names
from .ner_sets import NER_SETS, NerSet

_TUNING_ROWS = 120
HALVES = dict.fromkeys(SUBTYPES, 0.5)
"""Thresholds before any were chosen."""


def main() -> None:
    """Trains, or goes on training."""
    parser = training_parser("Trains the tagger.", "data sets of names", TaggingOptions)
    parser.add_argument("--chat-names", type=Path, required=True, help="the hand-labelled chat set: barred names")
    arguments = parser.parse_args()
    prepare_torch()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    try:
        sets = find_ner_sets(arguments.sets)
    except ValueError as error:
        sys.exit(str(error))
    sources = tuple(one.name for one in sets)
    (folder / "sources.json").write_text(json.dumps(sources), encoding="utf-8")
    attention = "eager" if arguments.device == "cpu" else "sdpa"
    network, reader, tokenizer = build(arguments.cache, shape_for(sources), attention=attention)
    # all sets are read even where some are not trained on: what any reports on is never trained on
    parts = {name: found for name, found in load_sets(arguments.data, NER_SETS).items() if name in sources}
    mix = TaggingMix(
        shares_of(sets, {name: found[Part.TRAIN] for name, found in parts.items()}),
        ChatWriter(
            [row for found in parts.values() for row in found[Part.TRAIN]],
            [row.text[one.start : one.end] for row in read_chat_names(arguments.chat_names) for one in row.spans],
        ),
        reader,
        network.shape,
        chosen_options(TaggingOptions, arguments),
        seed=arguments.seed,
    )
    network.to(arguments.device)
    run = TrainingRun(
        network,
        tagging_task(mix, network.shape, tokenizer.pad_id),
        options=chosen_options(RunOptions, arguments),
        folder=folder,
        seed=arguments.seed,
    )
    tuning = {name: found[Part.TUNE][:_TUNING_ROWS] for name, found in parts.items()}
    train_all(
        run,
        lambda: _tune(network, reader, tokenizer.pad_id, list(sets), tuning),
        Curve(("unmarked", "marked"), "F1", "F1"),
        arguments=arguments,
    )


def shape_for(sources: Sequence[str]) -> TaggerShape:
    """The head for so many sources and no source."""
    return TaggerShape(labels=len(LABELS), sources=len(sources) + 1)


def shares_of(sets: dict[NerSet, float], rows: dict[str, list[MarkedText]]) -> list[TaggingShare]:
    """What is mixed, sources numbered in the order of `sets` from 1."""
    return [
        TaggingShare(
            rows[one.name],
            one.weight * factor,
            one.chinese,
            one.is_english,
            Evidence.of(number, one.coverage, sorted(set(one.types.values()))),
        )
        for number, (one, factor) in enumerate(sets.items(), 1)
    ]


def tagging_task(mix: TaggingMix, shape: TaggerShape, pad_id: int) -> Task[TaggerNetwork, TaggerExample]:
    """What a run learns."""
    return Task(
        mix=mix, collate=partial(collate_tagging, pad_id=pad_id, shape=shape), loss=span_loss, shape=shape.model_dump()
    )


def build(
    cache: Path, shape: TaggerShape, *, attention: str = "sdpa", simplified: bool = False
) -> tuple[TaggerNetwork, WindowReader, EditUnitTokenizer]:
    """An untrained network on the prepared body, and what reads text for it.

    Args:
        cache: Where prepared models are kept.
        shape: Of the head.
        attention: See `load_body`.
        simplified: See `EditUnitTokenizer`; a training reads both scripts, what ships only this one.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    body, folder = trainable_body(cache, attention=attention)
    tokenizer = EditUnitTokenizer(open_vocabulary(folder, cache), simplified=simplified)
    return TaggerNetwork(body, shape), WindowReader(tokenizer), tokenizer


def _tune(
    network: TaggerNetwork,
    reader: WindowReader,
    pad_id: int,
    sets: Sequence[NerSet],
    tuning: dict[str, list[MarkedText]],
) -> dict[str, dict[str, float]]:
    """F1 of each set's own task and of the subtypes, the source not told."""
    scores = {}
    for number, one in enumerate(sets, 1):
        rows = tuning[one.name]
        texts = [row.text for row in rows]
        names = tag_all(
            network, reader, texts, lambda found, window: decode_names(found, window, HALVES), pad_id=pad_id
        )
        mapped = score_names(marked_names(rows, one), names, one).f1
        scores[one.name] = {"F1": round(mapped, 2), "mapped": round(mapped, 2)}
        if one.scored:
            labels = [LABELS.index(label) for label in one.scored]
            spans = tag_all(
                network,
                reader,
                texts,
                partial(decode_labels, labels=labels),
                pad_id=pad_id,
                source=number,
            )
            scores[one.name]["F1"] = round(score_labels(marked_labels(rows, one), spans).f1, 2)
    return scores


if __name__ == "__main__":
    main()
