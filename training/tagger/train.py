"""Trains the tagger.

    python -m training.tagger.train DATA --out DIR --cache MODELS --chat-names FILE [--sets open] [--resume]

DATA is the folder of the data sets of names, MODELS holds the prepared body (`python -m models.assets.prepare`), FILE
is the hand-labelled chat set. DIR gets `checkpoint.pt` (every few minutes), `best.pt` (of the epoch that tuned best),
`sources.json`, `log.jsonl` and `curve.png`. A run that was killed or suspended continues with `--resume`.
`--sets open` leaves out the sets whose licence is missing or does not allow any use.
On a GPU: `--device cuda --workers 1 --batch-tokens 16384 --batch-rows 256`.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from models.tagger.labels import LABELS
from models.tagger.network import TaggerNetwork, TaggerShape

from ..shared.data_sets import Part
from ..shared.learning_curve import Curve
from ..shared.loop import chosen_options, start, train_all, training_parser
from ..shared.run import Task
from .examples import Evidence, TaggerExample, collate_tagging, span_loss
from .mix import TaggingMix, TaggingOptions, TaggingShare
from .ner_chat import ChatWriter
from .ner_data import find_ner_sets, load_sets
from .ner_files import MarkedText, read_chat_names
from .ner_metrics import marked_labels, marked_names, score_labels, score_names
from .ner_sets import NER_SETS, NerSet
from .networks import LoadedTagger, build

_TUNING_ROWS = 120


def main() -> None:
    """Runs or resumes the training."""
    parser = training_parser("Trains the tagger.", "data sets of names", TaggingOptions)
    parser.add_argument("--chat-names", type=Path, required=True, help="the hand-labelled chat set: barred names")
    arguments = start(parser)
    try:
        sets = find_ner_sets(arguments.sets)
    except ValueError as error:
        sys.exit(str(error))
    sources = [data_set.name for data_set in sets]
    (arguments.out / "sources.json").write_text(json.dumps(sources), encoding="utf-8")
    shape = TaggerShape(labels=len(LABELS), sources=len(sources) + 1)
    tagger = build(arguments.cache, shape, sources, attention=arguments.attention)
    # all sets are read even where some are not trained on: what any reports on is never trained on
    parts = {name: rows for name, rows in load_sets(arguments.data, NER_SETS).items() if name in sources}
    mix = TaggingMix(
        shares_of(sets, {name: rows[Part.TRAIN] for name, rows in parts.items()}),
        ChatWriter(
            [row for rows in parts.values() for row in rows[Part.TRAIN]],
            [row.text[span.start : span.end] for row in read_chat_names(arguments.chat_names) for span in row.spans],
        ),
        tagger.reader,
        shape,
        chosen_options(TaggingOptions, arguments),
        seed=arguments.seed,
    )
    tuning = {name: rows[Part.TUNE][:_TUNING_ROWS] for name, rows in parts.items()}
    train_all(
        tagger.network,
        tagging_task(mix, shape, tagger.pad_id),
        lambda: _tune(tagger, list(sets), tuning),
        Curve(("unmarked", "marked"), "F1", "F1"),
        arguments=arguments,
    )


def shares_of(sets: Mapping[NerSet, float], rows: Mapping[str, list[MarkedText]]) -> list[TaggingShare]:
    """The shares of data sets in an epoch; sources are numbered in the order of `sets`, from 1."""
    return [
        TaggingShare(
            rows[data_set.name],
            data_set.weight * factor,
            data_set.chinese,
            data_set.is_english,
            Evidence.of(number, data_set.coverage, sorted(set(data_set.types.values()))),
        )
        for number, (data_set, factor) in enumerate(sets.items(), 1)
    ]


def tagging_task(mix: TaggingMix, shape: TaggerShape, pad_id: int) -> Task[TaggerNetwork, TaggerExample]:
    """The task of a training run."""
    collate = partial(collate_tagging, pad_id=pad_id, shape=shape)
    return Task(mix=mix, collate=collate, loss=span_loss, shape=shape.model_dump())


def _tune(
    tagger: LoadedTagger, sets: Sequence[NerSet], tuning: Mapping[str, list[MarkedText]]
) -> dict[str, dict[str, float]]:
    """F1 of each set's own task and of the subtypes without a source."""
    scores = {}
    for data_set in sets:
        rows = tuning[data_set.name]
        texts = [row.text for row in rows]
        mapped = score_names(marked_names(rows, data_set), tagger.names(texts), data_set).f1
        own = mapped
        if data_set.scored:
            spans = tagger.labels(texts, data_set.scored, source=data_set.name)
            own = score_labels(marked_labels(rows, data_set), spans).f1
        scores[data_set.name] = {"F1": round(own, 2), "mapped": round(mapped, 2)}
    return scores


if __name__ == "__main__":
    main()
