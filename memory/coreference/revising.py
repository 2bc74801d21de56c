"""Resolves an earlier query again with the antecedent that the user names: as a correction, or as an answer.

What the earlier query was taken to mean, or was asked about, comes from the session's history; it is not read again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..language.phrases import phrases_for
from ..language.questions import is_question
from ..values.text import fold_lower, has_han, normalise
from ..values.understanding.dialogue import HistoryEntry, Role, Turn
from ..values.understanding.extractions import Extraction
from ..values.understanding.mentions import EntitySubtype, MentionLevel
from ..values.understanding.readings import Intent
from ..values.understanding.resolutions import (
    Alternative,
    CoreferenceResolution,
    CoreferenceResult,
    ReferenceSource,
    ResolutionRequest,
    Revision,
)
from .antecedents import Antecedents
from .corrections import Choice, find_choice, names_something
from .counterparts import counterpart
from .reasons import named_by_the_user
from .value_expressions import is_value
from .writing import apply_edits, concatenate, fit_edit, writes_spaces

_STATED = 0.95  # confidence of an antecedent that the user has named
_SHORTEST_PART = 2  # characters of a name that identify it
_LOOK_BACK = 3  # messages of the user that a correction may concern
_MIN_OPTIONS = 2
_DISAGREES = frozenset({Intent.CORRECTION, Intent.DENY})


@dataclass(frozen=True, slots=True)
class _Edited:
    """A span of the earlier query: what was written there, or the options that were offered for it."""

    start: int
    end: int
    original: str
    resolved: str = ""
    before: str = ""
    after: str = ""
    options: tuple[str, ...] = ()
    rejected: Alternative | None = None

    @classmethod
    def of(cls, entry: HistoryEntry) -> "_Edited":
        """The span of an entry of the session's history."""
        options, resolved = entry.get("options") or (), str(entry.get("resolved_text") or "")
        rejected = Alternative(
            text=resolved,
            entity_id=str(entry["entity_id"]) if entry.get("entity_id") else None,
            source=ReferenceSource(str(entry.get("source") or ReferenceSource.SESSION.value)),
            score=_number(entry, "confidence"),
        )
        return cls(
            start=int(_number(entry, "start")),
            end=int(_number(entry, "end")),
            original=str(entry.get("original_text") or ""),
            resolved=resolved,
            before=str(entry.get("before") or ""),
            after=str(entry.get("after") or ""),
            options=tuple(options) if isinstance(options, (tuple, list)) else (),
            rejected=rejected if resolved else None,
        )

    def overlaps(self, other: "_Edited") -> bool:
        """Whether both edit the same words, or the same gap."""
        return (self.start, self.end) == (other.start, other.end) or (self.start < other.end and other.start < self.end)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """The message that a correction or an answer concerns, with what the session remembers of it."""

    turn: Turn
    edits: tuple[_Edited, ...]

    @property
    def query(self) -> str:
        return self.turn.content

    @property
    def asked(self) -> _Edited | None:
        """The reference that was asked about and is still open."""
        return next((edit for edit in self.edits if edit.options), None)


def revise(request: ResolutionRequest, extraction: Extraction) -> CoreferenceResult | None:
    """An earlier query with what the user says was meant; None where the message neither corrects nor answers.

    A message concerns the user's last one. A correction after a question may concern a statement before it instead: one
    that the reply repeated, or that contains the rejected words.

    Args:
        request: The message, its session and long-term memory.
        extraction: Of the message.
    """
    choice = find_choice(request.query)
    earlier = _earlier_messages(request) if choice else []
    if choice is None or not earlier or not _is_meant_so(choice, request.query, earlier[0], extraction):
        return None
    last, *before = earlier
    revised = _Reviser(request, extraction, choice, last).result()
    if revised is not None or not choice.denies:
        return revised
    replied = normalise(request.turns[-1].content) if request.turns[-1].role is Role.ASSISTANT else ""
    for statement in before:
        revised = None if is_question(statement.query) else _Reviser(request, extraction, choice, statement).result()
        taken_back = normalise(revised.revision.resolution.original_text) if revised and revised.revision else ""
        if taken_back and (
            taken_back == normalise(choice.wrong) or (is_question(last.query) and taken_back in replied)
        ):
            return revised
    return None


def _is_meant_so(choice: Choice, message: str, earlier: _Earlier, extraction: Extraction) -> bool:
    """Whether the reader allows to take a message of this form as a correction or an answer.

    A name alone that was offered answers, also where the reader takes it for the question that it was offered for.
    """
    intents = frozenset(extraction.intents)
    if not choice.corrects:
        return earlier.asked is not None and (
            Intent.QUESTION not in intents or _is_option(choice, message, earlier.asked)
        )
    return not intents or bool(intents & _DISAGREES) or (choice.firm and choice.denies) or earlier.asked is not None


def _is_option(choice: Choice, message: str, asked: _Edited) -> bool:
    return choice.text == message.strip() and normalise(choice.text) in map(normalise, asked.options)


def _earlier_messages(request: ResolutionRequest) -> list[_Earlier]:
    """The last messages of the user that are more than corrections or answers themselves, latest first."""
    messages = []
    for turn in [turn for turn in reversed(request.turns) if turn.role is Role.USER][:_LOOK_BACK]:
        latest: dict[tuple[object, object], HistoryEntry] = {}
        for entry in request.history:
            if entry.get("query") == turn.content:
                latest[entry.get("start"), entry.get("end")] = entry
        if latest or not _only_chooses(turn.content):
            edits = sorted(map(_Edited.of, latest.values()), key=lambda edit: (edit.start, edit.end))
            messages.append(_Earlier(turn, tuple(edits)))
    return messages


def _only_chooses(message: str) -> bool:
    choice = find_choice(message)
    return choice is not None and (choice.corrects or choice.place is not None or choice.all)


class _Reviser:
    def __init__(self, request: ResolutionRequest, extraction: Extraction, choice: Choice, earlier: _Earlier) -> None:
        self._request = request
        self._extraction = extraction
        self._choice = choice
        self._earlier = earlier
        self._antecedents = Antecedents(request)
        self._spaces = writes_spaces([earlier.query, *(turn.content for turn in request.turns)])

    def result(self) -> CoreferenceResult | None:
        """The revised query; None where what is meant or its place is not known."""
        found = self._chosen_option() or self._replaced_part() or self._named_antecedent()
        return self._write(*found) if found else None

    def _chosen_option(self) -> tuple[str, _Edited] | None:
        """The option that the user chooses, and the reference that was asked about."""
        asked, choice = self._earlier.asked, self._choice
        if asked is None:
            return None
        options = self._options_in_order(asked)
        if choice.all:
            return self._join(options), asked
        if choice.place is not None:
            return (options[choice.place], asked) if -1 <= choice.place < len(options) else None
        name = _match(choice.text, options)
        return (name, asked) if name else None

    def _options_in_order(self, asked: _Edited) -> list[str]:
        """The options as the assistant's reply lists them, which is how the user counts them."""
        last = self._request.turns[-1]
        reply = normalise(last.content) if last.role is Role.ASSISTANT else ""
        named = [option for option in asked.options if normalise(option) in reply]
        if len(named) < _MIN_OPTIONS:
            return list(asked.options)
        return sorted(named, key=lambda option: reply.index(normalise(option)))

    def _join(self, options: Sequence[str]) -> str:
        phrases = phrases_for([self._earlier.query])
        pieces = [options[0]]
        for option in options[1:]:
            pieces += [phrases.also if option is options[-1] else phrases.listing, option]
        return concatenate(pieces, spaces=self._spaces)

    def _replaced_part(self) -> tuple[str, _Edited] | None:
        """The part of the earlier message that a correction replaces by its form: 一樓 for 二樓."""
        if not self._choice.corrects:
            return None
        query = self._earlier.query
        part = counterpart(query, self._choice)
        if part is None:
            return None
        edited = _Edited(part.start, part.end, query[part.start : part.end])
        taken_back = Alternative(text=edited.original, source=ReferenceSource.SESSION, score=1.0)
        known = next((edit for edit in self._earlier.edits if edit.overlaps(edited) and edit.rejected), None)
        rejected = known.rejected if known else taken_back
        return part.text, _Edited(part.start, part.end, edited.original, rejected=rejected)

    def _named_antecedent(self) -> tuple[str, _Edited] | None:
        """The antecedent that a correction names, and the reference or name that it stands for."""
        if not self._choice.corrects:
            return None
        meant, subtype = self._meant()
        place = self._place(subtype) if meant else None
        return (meant, place) if place else None

    def _meant(self) -> tuple[str, EntitySubtype | None]:
        """What the user says was meant, with its type; empty where it names nothing."""
        choice, text = self._choice, self._choice.text
        for mention in self._extraction.mentions:
            covers = mention.start <= choice.start + _article(text) and choice.end <= mention.end
            if covers and mention.level is MentionLevel.LONG_TERM:
                return mention.text, mention.subtype or self._antecedents.entity(mention.text)[1]
        if is_value(text):
            return "", None
        known = self._antecedents.names()
        if (name := _match(text, known)) is not None:
            return name, self._antecedents.entity(name)[1]
        said = any(normalise(text).removeprefix("the ") in normalise(turn.content) for turn in self._request.turns)
        corrects = choice.firm and Intent.CORRECTION in self._extraction.intents
        return (text if (said or corrects) and names_something(choice, self._request.query) else ""), None

    def _place(self, subtype: EntitySubtype | None) -> _Edited | None:
        edits, wrong = self._earlier.edits, normalise(self._choice.wrong)
        if self._earlier.asked:
            return self._earlier.asked
        if wrong:
            edits = tuple(edit for edit in edits if wrong in normalise(edit.resolved))
        if edits:
            types = {edit: self._antecedents.entity(edit.resolved)[1] for edit in edits}
            return next((edit for edit in reversed(edits) if subtype and types[edit] is subtype), edits[-1])
        return None if wrong else self._name_in_message(subtype)

    def _name_in_message(self, subtype: EntitySubtype | None) -> _Edited | None:
        """The only name of this type in the earlier message."""
        names = [
            mention
            for mention in self._earlier.turn.mentions or ()
            if mention.level is MentionLevel.LONG_TERM and (subtype is None or mention.subtype in (None, subtype))
        ]
        if len(names) != 1:
            return None
        [name] = names
        rejected = Alternative(
            text=name.text, entity_id=name.entity_id, source=ReferenceSource.SESSION, score=name.confidence
        )
        return _Edited(name.start, name.end, name.text, resolved=name.text, rejected=rejected)

    def _write(self, meant: str, place: _Edited) -> CoreferenceResult:
        query = self._earlier.query
        edit = fit_edit(query, place.start, place.end, f"{place.before}{meant}{place.after}", spaces=self._spaces)
        kept = [other for other in self._earlier.edits if other.resolved and not other.overlaps(place)]
        written = [
            fit_edit(query, other.start, other.end, f"{other.before}{other.resolved}{other.after}", spaces=self._spaces)
            for other in kept
        ]
        entity_id = self._entity_id(meant)
        resolution = CoreferenceResolution(
            original_text=query[edit.start : edit.end],
            resolved_text=meant,
            entity_id=entity_id,
            source=ReferenceSource.SESSION,
            confidence=_STATED,
            start=edit.start,
            end=edit.end,
            written=edit.text,
            reason=named_by_the_user(self._request.query),
        )
        rejected = place.rejected if place.rejected and normalise(place.rejected.text) != normalise(meant) else None
        ids = [*(other.rejected.entity_id for other in kept if other.rejected), entity_id]
        return CoreferenceResult(
            original_query=self._request.query,
            resolved_query=apply_edits(query, [*written, edit]),
            confidence=_STATED,
            entities_found=tuple(dict.fromkeys(found for found in ids if found)),
            revision=Revision(query=query, resolution=resolution, rejected=rejected),
        )

    def _entity_id(self, meant: str) -> str | None:
        """The id of the entity with this name; the message that names it for the first time has one already."""
        known, _ = self._antecedents.entity(meant)
        new = (found.entity_id for found in self._extraction.mentions if normalise(found.text) == normalise(meant))
        return known or next((entity_id for entity_id in new if entity_id), None)


def _match(text: str, names: Sequence[str]) -> str | None:
    """The name that this is, or the only one that contains it: 宏康 for 宏康 HCI."""
    key = _key(text)
    same = next((name for name in names if _key(name) == key), None)
    if same is not None or len(key) < _SHORTEST_PART:
        return same
    parts = {_key(name): name for name in names if _is_part(key, _key(name))}
    return next(iter(parts.values())) if len(parts) == 1 else None


def _is_part(short: str, full: str) -> bool:
    return short in full if has_han(short) else f" {short} " in f" {full} "


def _key(text: str) -> str:
    return normalise(text).removeprefix("the ")


def _article(text: str) -> int:
    return len("the ") if fold_lower(text).startswith("the ") else 0


def _number(entry: HistoryEntry, key: str) -> float:
    value = entry.get(key)
    return float(value) if isinstance(value, (int, float)) else 0.0
