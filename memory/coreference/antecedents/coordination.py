"""Coordinations: things named side by side and not on their own since. A singular that fits each of them is ambiguous.

"AI-Box and Redis are up for renewal. When does it expire?" What a ranking prefers one of them for is older than the
coordination (it was referred to, or named in a correction) or no evidence (it sounds more like the question), so
that must not decide. What each of them is does: a person is not meant by 它, a place not by "this system".
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .candidates import Candidate, Span
from .ranking import Ranked

_DECIDING = ("agreement", "head")
"""Features that tell what a thing is rather than how it was mentioned."""

Coordination = frozenset[str]
"""The keys of the members of one coordination."""


class CoordinationTracker:
    """Follows a conversation mention by mention, and keeps the coordinations that still stand.

    What the assistant repeats (it quotes) names nothing anew: a coordination that was known stays as it was.
    """

    def __init__(self) -> None:
        self._known: set[Coordination] = set()
        self._current: dict[Coordination, None] = {}

    @property
    def current(self) -> tuple[Coordination, ...]:
        """The coordinations none of whose members has been mentioned on its own since."""
        return tuple(self._current)

    def read(self, found: Iterable[Span], groups: Iterable[Candidate], *, user: bool) -> None:
        """Takes in the mentions of a text, in text order, and the coordinations among them."""
        joined = {member.end: group for group in groups for member in group.members}
        for _, end, candidate in found:
            group = joined.get(end)
            if group is None:
                self.single_out(candidate.key)
            elif end == group.end:
                keys = frozenset(member.key for member in group.members)
                if user or keys not in self._known:
                    self._current[keys] = None
                self._known.add(keys)

    def single_out(self, key: str) -> None:
        """Takes in that one thing was mentioned or referred to on its own."""
        for keys in self.current:
            if key in keys:
                del self._current[keys]


def level_coordinated(ranked: Sequence[Ranked], coordinations: Sequence[Coordination]) -> list[Ranked]:
    """The ranking in which things that were named together, and are alike in what they are, have the same score.

    Args:
        ranked: Best first.
        coordinations: See `CoordinationTracker.current`.
    """
    scores = [option.score for option in ranked]
    for keys in coordinations:
        peers: dict[tuple[float, ...], list[int]] = {}
        for at, option in enumerate(ranked):
            if option.candidate.key in keys:
                peers.setdefault(tuple(option.features[name] for name in _DECIDING), []).append(at)
        for alike in peers.values():
            best = max(scores[at] for at in alike)
            for at in alike:
                scores[at] = best
    return sorted(
        (replace(option, score=score) for option, score in zip(ranked, scores, strict=True)),
        key=lambda option: (-option.score, -option.candidate.order),
    )


def has_peer(key: str, ranked: Sequence[Ranked], coordinations: Sequence[Coordination]) -> bool:
    """Whether something that was named together with a candidate is as likely as it.

    Args:
        key: Of the candidate.
        ranked: As `level_coordinated` left it.
        coordinations: See `CoordinationTracker.current`.
    """
    scores = {option.candidate.key: option.score for option in ranked}
    peers = {other for keys in coordinations if key in keys for other in keys} - {key}
    return key in scores and any(scores.get(other) == scores[key] for other in peers)
