"""Reads the turns of a session: their mentions, references and corrections."""

from collections.abc import Sequence

from ...values.dialogue import Role, Turn
from ...values.mentions import Mention
from ...values.resolutions import ResolutionRequest
from ...values.text import normalise
from ..antecedents.candidates import Candidate
from ..antecedents.choice import antecedents
from ..antecedents.counterparts import counterpart
from ..antecedents.discourse import Discourse
from ..antecedents.ranking import confidence
from ..detect.corrections import Choice, find_choice
from ..detect.detection import find_references
from ..write.clarifying import options_of

TURNS = 12
"""Latest turns of a session that are read."""
REFERENCES = 24
"""References resolved in one text; further ones are left unchanged."""


class HistoryReader:
    """Reads a session turn by turn and resolves its references, so that chains (它 → 這個系統 → AI-Box) end at a name.

    Args:
        request: The request with its turns.
        floor: Confidence below which a reference stays unresolved, 0–1.
    """

    def __init__(self, request: ResolutionRequest, *, floor: float) -> None:
        self._turns = request.turns[-TURNS:]
        self._floor = floor
        self._referred: tuple[str, Candidate | None] | None = None  # the user's last reference and its antecedent
        self._options: tuple[Candidate, ...] = ()
        self._last_message = ""  # of the user, with later corrections applied
        self._discourse = Discourse(request.long_term, request.occasions)
        for entry in request.history:
            if entry.get("corrected"):
                self._discourse.correct(
                    str(entry["original_text"]),
                    meant=normalise(str(entry["corrected"])),
                    wrong=normalise(str(entry["resolved_text"])),
                )

    def read(self, mentions: Sequence[tuple[Mention, ...]]) -> Discourse:
        """The candidates of the turns.

        Args:
            mentions: The mentions of each of the last `TURNS` turns.
        """
        for turn, named in zip(self._turns, mentions, strict=True):
            user = turn.role is Role.USER
            if (
                user or turn.mentions != ()
            ):  # `()` marks a stock phrase of the assistant, which introduces no candidates
                self._read(turn, named, user=user)
            self._discourse.next_turn()
        return self._discourse

    def _read(self, turn: Turn, named: tuple[Mention, ...], *, user: bool) -> None:
        discourse, position = self._discourse, 0
        choice = find_choice(turn.content) if user else None
        if choice and self._apply_choice(choice, turn.content):
            discourse.read(turn.content, named, user=user)
            return
        if user and (choice and (choice.firm or choice.denies)) and (part := counterpart(self._last_message, choice)):
            self._last_message = part.put_into(self._last_message)
            discourse.read(self._last_message, (), user=True)
            return
        self._last_message = turn.content if user else self._last_message
        references = find_references(turn.content)[:REFERENCES]
        for reference in references:
            discourse.read(turn.content, named, user=user, start=position, end=reference.start)
            position = reference.start
            ranked = antecedents(turn.content, reference, discourse, now=turn.created_at)
            is_resolved = bool(ranked) and confidence(ranked) >= self._floor
            if is_resolved:
                discourse.refer(ranked[0].candidate, user=user, end=reference.end)
                position = reference.end
            if user:
                self._referred = (reference.text, ranked[0].candidate if is_resolved else None)
                self._options = () if is_resolved else tuple(option.candidate for option in options_of(ranked))
        if user and not references:
            self._referred, self._options = None, ()
        discourse.read(turn.content, named, user=user, start=position)

    def _apply_choice(self, choice: Choice, content: str) -> bool:
        """Applies a correction, or an answer that chooses an option; returns whether the turn was one."""
        meant = self._chosen(choice)
        if meant is None or self._referred is None:
            return False
        reference, wrong = self._referred
        self._discourse.refer(meant, user=True, end=len(content))
        if choice.firm or choice.denies:
            self._discourse.correct(reference, meant=meant.key, wrong=wrong.key if wrong else None)
        self._referred, self._options = (reference, meant), ()
        return True

    def _chosen(self, choice: Choice) -> Candidate | None:
        if choice.place is not None:
            return self._options[choice.place] if -1 <= choice.place < len(self._options) and self._options else None
        pool = self._discourse.session() if choice.firm or choice.denies else self._options
        key = normalise(choice.text).removeprefix("the ")
        return next((candidate for candidate in pool if candidate.key.removeprefix("the ") == key), None)
