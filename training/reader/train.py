"""Trains the reader.

    python -m training.reader.train DATA --corpus FOLDER … --out DIR --cache MODELS [--start CHECKPOINT] [--resume]

DATA is the folder of the public data sets (`rewriting` and `ner` inside), each FOLDER a chat corpus (`references` and
`messages` inside), MODELS holds the prepared body (`python -m models.assets.prepare`). DIR gets `words.json`,
`sources.json`, `checkpoint.pt` (every few minutes), `best.pt` (of the epoch that tuned best), `log.jsonl` and
`curve.png`. A run that was killed or suspended continues with `--resume`.
On a GPU: `--device cuda --workers 1 --batch-tokens 16384 --batch-rows 128`.
"""

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from memory.values.understanding.readings import Action, Intent
from models.assets.weight_files import read_settings
from models.reader.decisions import ReaderSettings
from models.reader.features import joined_names
from models.reader.network import ReaderNetwork, ReaderShape

from ..names.examples import Evidence
from ..names.ner_chat import ChatWriter
from ..names.ner_data import find_ner_sets, load_sets
from ..names.ner_files import read_chat_names
from ..names.ner_sets import NER_SETS
from ..rewriting.data import RewritingRow, find_sets, load_rows
from ..rewriting.examples import frequent_words
from ..rewriting.labels import Limits
from ..rewriting.metrics import score_rewrites
from ..shared.data_sets import Part
from ..shared.learning_curve import Curve
from ..shared.loop import chosen_options, start, train_all, training_parser
from ..shared.mix import Mix
from ..shared.run import Task
from .corpus import (
    MarkedQuery,
    read_intents,
    read_kinds,
    read_messages,
    read_queries,
    read_requests_to_forget,
    read_talks,
)
from .corpus_mix import AmbiguousMix, JointMix, MessageMix
from .examples import ReaderExample, request_of
from .losses import collate_examples, reader_loss
from .metrics import score_messages, score_references, share
from .name_mix import NameMix, NameOptions, NameShare
from .networks import LoadedReader, build, load_shipped, take_all
from .rewriting_mix import RewritingMix, RewritingOptions, RewritingShare

_WORDS = {True: (3, 24), False: (4, 72)}
"""Function words of a data set, by whether it is Chinese: least uses, most words."""
_TUNING_ROWS = 160
_POINTING = ("那", "這", "这")
_EARLIER = ("上次說的", "上次提到的", "之前說的", "上週說的", "昨天提到的", "我先前講的", "上個月提到的")
_GREETINGS: tuple[tuple[str, ...], ...] = (
    (),
    (),
    ("早安", "早安！"),
    ("嗨", "您好！有什麼要我記住的嗎？"),
    ("在嗎", "在。"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderOptions:
    """What an epoch reads, and in which batches.

    Attributes:
        queries: How often an epoch reads each query of the corpus that is rewritten or kept, on average.
        ambiguous: Likewise each query to ask back.
        messages: Likewise each message.
        everyday: Likewise each plain one, as people type them every day.
        talks: Likewise each message of a talk, of which is known what it is for and what it means.
        signed: Likewise each message by itself of which is known its kind, or whether it asks to forget something.
        unrelated: Probability that messages of other blocks were said before a message.
        recalled: Likewise each query that refers to an earlier conversation (`recalled_rows`).
        part_of_corpus: Share of the corpus' training rows that is used, for learning curves.
        rewriting: Likewise each row of the data sets of query rewriting, times the weight of its set.
        names: Likewise each text of the data sets of names, times the weight of its set.
        batch_tokens: Padded tokens of a batch, at most.
        batch_rows: Rows of a batch, at most.
    """

    queries: float = 1.0
    ambiguous: float = 2.0
    messages: float = 2.0
    everyday: float = 2.0
    talks: float = 0.0
    signed: float = 0.0
    unrelated: float = 0.4
    recalled: float = 0.5
    part_of_corpus: float = 1.0
    rewriting: float = 0.1
    names: float = 0.1
    batch_tokens: int = 1600
    batch_rows: int = 32


_REWRITING_WEIGHTS = {"rewrite": 0.5, "restoration": 1.0, "canard": 0.5, "camrest": 0.8, "followup": 0.6, "mudoco": 0.6}
_OF_CORPUS = RewritingOptions(complete=0.15, foreign=0.1, lost=0.03, renamed=0.0, offered=0.2)
_OF_SETS = RewritingOptions(complete=0.15, foreign=0.1, lost=0.05, renamed=0.2, offered=0.1)


def main() -> None:
    """Runs or resumes the training."""
    parser = training_parser("Trains the reader.", "public data sets", ReaderOptions)
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of chat corpora")
    parser.add_argument("--chat-names", type=Path, help="a hand-labelled set whose names the chat templates leave out")
    parser.add_argument("--teacher", type=Path, help="a weight file that says what queries are for, read alone")
    parser.add_argument("--words", type=Path, help="function words of an earlier run")
    parser.add_argument("--weights", type=Path, help="a reader's weight file, to start from with its function words")
    arguments = start(parser)
    options = chosen_options(ReaderOptions, arguments)
    words = _words(arguments)
    sources = [data_set.name for data_set in find_ner_sets(arguments.sets)]
    for name, values in (("words", words), ("sources", sources)):
        (arguments.out / f"{name}.json").write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
    reader = build(arguments.cache, words, sources, attention=arguments.attention)
    if arguments.weights is not None:
        take_all(reader.network, arguments.weights)
    mix = joint_mix(arguments, options, reader)
    train_all(
        reader.network,
        reader_task(mix, reader.network.shape, reader.pad_id),
        partial(_tune, reader, arguments),
        Curve(("place", "segment", "object"), "right", "right"),
        arguments=arguments,
    )


def reader_task(mix: JointMix, shape: ReaderShape, pad_id: int) -> Task[ReaderNetwork, ReaderExample]:
    """The task of a training run."""
    collate = partial(collate_examples, pad_id=pad_id, shape=shape)
    return Task(mix=mix, collate=collate, loss=reader_loss, shape=shape.model_dump())


def joint_mix(arguments: argparse.Namespace, options: ReaderOptions, reader: LoadedReader) -> JointMix:
    """Everything that the reader learns from."""
    shape, features, seed = reader.network.shape, reader.reader, arguments.seed
    limits = Limits(deleted=shape.edits.deleted, span=shape.edits.span)
    queries = _share(read_queries(arguments.corpus, Part.TRAIN), options.part_of_corpus)
    marked = [*read_messages(arguments.corpus, Part.TRAIN), *read_intents(arguments.corpus, Part.TRAIN)]
    messages = _share(marked, options.part_of_corpus)
    talks = read_talks(arguments.corpus, Part.TRAIN)
    signed = [*read_kinds(arguments.corpus, Part.TRAIN), *read_requests_to_forget(arguments.corpus, Part.TRAIN)]
    intents = _taught_intents(queries, arguments)
    mixes: list[Mix[Any, ReaderExample]] = [
        RewritingMix(
            [
                RewritingShare(
                    [rewriting_row(query) for query in queries if _is_of(query, chinese=chinese)],
                    options.queries,
                    chinese,
                    is_corpus=True,
                )
                for chinese in (True, False)
            ]
            + [RewritingShare(recalled_rows(queries, seed), options.recalled, chinese=True, is_corpus=True)],
            features,
            limits,
            _OF_CORPUS,
            seed=seed,
            intents=intents,
        ),
        AmbiguousMix(
            [query for query in queries if query.action is Action.ASK],
            options.ambiguous,
            features,
            seed=seed,
            intents=intents,
        ),
        MessageMix(
            messages,
            [options.everyday if message.is_everyday else options.messages for message in messages],
            0.15,
            options.unrelated,
            features,
            shape,
            seed=seed,
        ),
        MessageMix(
            [*talks, *signed],
            [options.talks] * len(talks) + [options.signed] * len(signed),
            0.15,
            options.unrelated,
            features,
            shape,
            seed=seed,
        ),
    ]
    if options.rewriting:
        sets = [
            RewritingShare(
                load_rows(arguments.data / "rewriting", data_set)[Part.TRAIN],
                options.rewriting * _REWRITING_WEIGHTS[data_set.name],
                data_set.chinese,
            )
            for data_set in find_sets(arguments.sets)
        ]
        mixes.append(RewritingMix(sets, features, limits, _OF_SETS, seed=seed))
    if options.names:
        mixes.append(_name_mix(arguments, options, reader))
    return JointMix(mixes, seed=seed, batch_tokens=options.batch_tokens, batch_rows=options.batch_rows)


def rewriting_row(query: MarkedQuery) -> RewritingRow:
    """A marked query as a row of query rewriting."""
    return RewritingRow(query.turns, query.query, query.target, "corpus", query.category)


def recalled_rows(queries: Sequence[MarkedQuery], seed: int) -> list[RewritingRow]:
    """Chinese queries that refer to an earlier conversation: 上次說的那台… with its name among those offered.

    Made of queries that point at one thing; the turns that name it are gone, a greeting may stand in their place.
    """
    rng = random.Random(seed)
    named = [query for query in queries if query.language != "en" and len(query.references) == 1]
    names = [query.references[0].antecedents[0] for query in named if len(query.references[0].antecedents) == 1]
    rows = []
    for query in named:
        (reference,) = query.references
        pointing = query.query[reference.start : reference.end]
        if len(reference.antecedents) != 1 or pointing[:1] not in _POINTING:
            continue
        offered = rng.sample(names, rng.randint(0, 4))
        offered.insert(rng.randint(0, len(offered)), reference.antecedents[0])
        greeting = rng.choice(_GREETINGS)
        asked = f"{query.query[: reference.start]}{rng.choice(_EARLIER)}{query.query[reference.start :]}"
        turns = (joined_names(list(dict.fromkeys(offered))), *greeting)
        rows.append(RewritingRow(turns, asked, query.target, "corpus", query.category))
    return rows


def _taught_intents(queries: Sequence[MarkedQuery], arguments: argparse.Namespace) -> dict[str, tuple[Intent, ...]]:
    """What queries are for, as a trained reader says that reads them alone: the corpus marks only messages."""
    if arguments.teacher is None:
        return {}
    texts = list(dict.fromkeys(query.query for query in queries))
    readings = load_shipped(arguments.teacher, arguments.cache).read([request_of(text) for text in texts])
    return {text: tuple(intent for intent, _ in reading.intents) for text, reading in zip(texts, readings, strict=True)}


def _is_of(query: MarkedQuery, *, chinese: bool) -> bool:
    return query.action is not Action.ASK and (query.language != "en") is chinese


def _share(rows: list[Any], share: float) -> list[Any]:
    """The first rows of every hundred."""
    return [row for number, row in enumerate(rows) if number % 100 < 100 * share]


def _name_mix(arguments: argparse.Namespace, options: ReaderOptions, reader: LoadedReader) -> NameMix:
    sets = find_ner_sets(arguments.sets)
    parts = load_sets(arguments.data / "ner", NER_SETS)
    rows = {data_set.name: parts[data_set.name][Part.TRAIN] for data_set in sets}
    barred = read_chat_names(arguments.chat_names) if arguments.chat_names else []
    shares = [
        NameShare(
            rows[data_set.name],
            options.names * data_set.weight * factor,
            data_set.chinese,
            data_set.is_english,
            Evidence.of(number, data_set.coverage, sorted(set(data_set.types.values()))),
        )
        for number, (data_set, factor) in enumerate(sets.items(), 1)
    ]
    writer = ChatWriter(
        [row for of_set in rows.values() for row in of_set],
        [row.text[span.start : span.end] for row in barred for span in row.spans],
    )
    return NameMix(shares, writer, reader.reader, reader.network.shape, NameOptions(), seed=arguments.seed)


def _tune(reader: LoadedReader, arguments: argparse.Namespace) -> Mapping[str, Mapping[str, float]]:
    """Scores on tuning rows; nothing is calibrated yet."""
    queries = read_queries(arguments.corpus, Part.TUNE)
    readings = reader.read([request_of(query.query, query.turns) for query in queries])
    counts = score_references(queries, [reading.rewrite for reading in readings])
    scores = {kind: {"right": share(counts, kind)} for kind in ("references", "left alone", "asked back")}
    messages = read_messages(arguments.corpus, Part.TUNE)
    found = score_messages(
        messages,
        reader.read([request_of(row.text, row.turns) for row in messages]),
    )
    scores |= {name: {"right": value} for name, value in found.items()}
    for data_set in find_sets(arguments.sets):
        rows = load_rows(arguments.data / "rewriting", data_set)[Part.TUNE][:_TUNING_ROWS]
        rewritten = reader.read([request_of(row.query, row.turns) for row in rows])
        measured = score_rewrites(
            [row.query for row in rows], [row.target for row in rows], [reading.rewrite.text for reading in rewritten]
        )
        scores[data_set.name] = {"right": round(measured.value("EM"), 1)}
    return scores


def _words(arguments: argparse.Namespace) -> list[str]:
    """The function words of a weight file or of an earlier run, or those that training rows need."""
    if arguments.weights is not None:
        return list(read_settings(arguments.weights, ReaderSettings).words)
    path: Path = arguments.words or arguments.out / "words.json"
    if path.exists():
        return [str(word) for word in json.loads(path.read_text(encoding="utf-8"))]
    sets = [
        (load_rows(arguments.data / "rewriting", data_set)[Part.TRAIN], data_set.chinese)
        for data_set in find_sets(arguments.sets)
    ]
    rows = [rewriting_row(query) for query in read_queries(arguments.corpus, Part.TRAIN)]
    chosen: dict[str, None] = {}
    for of_set, chinese in [*sets, (rows, False)]:
        least, most = _WORDS[chinese]
        chosen |= dict.fromkeys(frequent_words(of_set, least=least, most=most))
    return list(chosen)


if __name__ == "__main__":
    main()
