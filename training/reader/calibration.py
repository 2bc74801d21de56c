"""Chooses the reader's thresholds and calibrates its probabilities on tuning rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action
from models.body.calibration import Calibration
from models.reader.decisions import ReaderSettings, Thresholds
from models.reader.fact_reading import facts_of
from models.reader.inference import Found
from models.reader.reader import reading_of, rewrite_of

from ..rewriting.metrics import score_rewrites
from ..shared.calibration import fit
from .corpus import MarkedMessage, MarkedQuery
from .metrics import fact_keys, is_right, read_keys, share_of_f1

_CHOICES = tuple(round(0.05 * number, 2) for number in range(2, 19))
SURE = 0.8
"""The confidence from which on at most one rewrite in twenty may be wrong (issue 15)."""
_SURE_RIGHT = 0.95
_FEWEST_SURE = 20
_FLATTER = tuple(1.0 - 0.04 * number for number in range(24))
_RESTORED = 0.5  # rewriting F1 from which an edit restores what was meant
OPEN_THRESHOLDS = Thresholds(keep=1.0, ask=1.1, names=dict.fromkeys(EntitySubtype, 0.2), intents=0.05, facts=0.02)
"""Thresholds under which everything is found that any choice of thresholds could say."""


@dataclass(frozen=True, slots=True)
class TunedQuery:
    """A marked query with what the network finds in it, edits looked for in any case."""

    query: MarkedQuery
    found: Found


@dataclass(frozen=True, slots=True)
class TunedMessage:
    """A marked message with what the network finds in its windows under `OPEN_THRESHOLDS`."""

    message: MarkedMessage
    found: Sequence[Found]


def tuned_settings(
    settings: ReaderSettings, queries: Sequence[TunedQuery], messages: Sequence[TunedMessage]
) -> ReaderSettings:
    """The settings with calibration and thresholds that do best on tuning rows.

    Args:
        settings: Those of the network.
        queries: Marked queries.
        messages: Marked messages.
    """
    keep = fit(
        [row.found.chain.keep_probability for row in queries], [row.query.action is Action.KEEP for row in queries]
    )
    ask = fit([row.found.ask for row in queries], [row.query.action is Action.ASK for row in queries])
    settings = settings.model_copy(update={"keep": keep, "ask": ask})
    settings = _with(settings, keep=1.1, ask=1.1)
    edited = [row for row in queries if row.query.action is Action.REWRITE and row.found.chain.edits]
    edit = fit(
        [_edit_probability(row.found) for row in edited],
        [_restores(rewrite_of(row.found, settings).text, row.query) for row in edited],
    )
    settings = settings.model_copy(update={"edit": edit})
    best = max(
        ((keep_from, ask_from) for keep_from in _CHOICES for ask_from in _CHOICES),
        key=lambda choice: _references(_with(settings, keep=choice[0], ask=choice[1]), queries),
    )
    settings = _with(settings, keep=best[0], ask=best[1])
    settings = settings.model_copy(update={"edit": _made_sure(settings, queries)})
    opened = _with(settings, **_open())
    intents = max(_CHOICES, key=lambda least: _intents(least, messages, opened))
    facts = max(_CHOICES[:-4], key=lambda least: _facts(least, messages))
    names = {
        subtype: max(_CHOICES[2:-4], key=lambda least: _names(subtype, least, messages)) for subtype in EntitySubtype
    }
    return _with(settings, intents=intents, facts=facts, names=names)


def _restores(text: str, query: MarkedQuery) -> bool:
    """Whether a rewrite restores what was meant, though not in the annotator's very words."""
    return score_rewrites([query.query], [query.target], [text]).value("F1") >= 100 * _RESTORED


def _made_sure(settings: ReaderSettings, queries: Sequence[TunedQuery]) -> Calibration:
    """The calibration of edits, flattened until of what is written surely at most one in twenty is wrong.

    Where an edit is as likely to restore what was meant as not, its probability stays one half; surer ones are lowered
    because a rewrite that means the right thing may still be written wrongly.
    """
    edit = settings.edit
    middle = -edit.offset / edit.weight
    for share in _FLATTER:
        weight = edit.weight * share
        flatter = Calibration(weight=round(weight, 4), offset=round(-weight * middle, 4))
        tried = settings.model_copy(update={"edit": flatter})
        written = [(rewrite_of(row.found, tried), row.query) for row in queries if row.found.chain.edits]
        sure = [
            is_right(query, rewrite)
            for rewrite, query in written
            if rewrite.action is Action.REWRITE and rewrite.confidence >= SURE
        ]
        if len(sure) < _FEWEST_SURE or sum(sure) >= _SURE_RIGHT * len(sure):
            return flatter
    return flatter


def _edit_probability(found: Found) -> float:
    return float(np.exp(min(found.chain.edit_log_probabilities)))


def _references(settings: ReaderSettings, queries: Sequence[TunedQuery]) -> float:
    """The mean right share of queries to rewrite, to keep and to ask back, the first two counting thrice."""
    shares = []
    for action, weight in ((Action.REWRITE, 3), (Action.KEEP, 3), (Action.ASK, 1)):
        rows = [row for row in queries if row.query.action is action]
        right = [is_right(row.query, rewrite_of(row.found, settings)) for row in rows]
        shares += [float(np.mean(right))] * weight if rows else []
    return float(np.mean(shares))


def _intents(least: float, messages: Sequence[TunedMessage], settings: ReaderSettings) -> float:
    chosen = _with(settings, intents=least)
    pairs = [
        (set(row.message.intents), {intent for intent, _ in reading_of(row.found, chosen).intents}) for row in messages
    ]
    return share_of_f1(pairs)


def _facts(least: float, messages: Sequence[TunedMessage]) -> float:
    pairs = []
    for row in messages:
        facts = [fact for found in row.found for fact in facts_of(found) if fact.confidence >= least]
        pairs.append((fact_keys(row.message), read_keys(facts)))
    return share_of_f1(pairs)


def _names(subtype: EntitySubtype, least: float, messages: Sequence[TunedMessage]) -> float:
    pairs = [
        (
            {(name.start, name.end) for name in row.message.names if name.label == subtype.value},
            {
                (name.start, name.end)
                for found in row.found
                for name in found.names
                if name.subtype is subtype and name.score > least
            },
        )
        for row in messages
    ]
    return share_of_f1(pairs) - 1e-3 * abs(least - 0.5)


def _open() -> dict[str, object]:
    return {"names": OPEN_THRESHOLDS.names, "intents": OPEN_THRESHOLDS.intents, "facts": OPEN_THRESHOLDS.facts}


def _with(settings: ReaderSettings, **thresholds: object) -> ReaderSettings:
    return settings.model_copy(update={"thresholds": settings.thresholds.model_copy(update=thresholds)})
