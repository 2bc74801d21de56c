"""Coordinations whose members have not been mentioned alone since: a singular that fits several of them is ambiguous.

"AI-Box and Redis are up for renewal. When does it expire?" Only agreement and head noun may prefer one member: 它 means
no person, "this system" no place. Earlier references, corrections and similarity to the question are no evidence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .candidates import Candidate, Span
from .ranking import Ranked

_DECIDING = ("agreement", "head")
"""Features of the thing itself rather than of its mentions."""

Coordination = frozenset[str]
"""The keys of the members of one coordination."""


class CoordinationTracker:
    """Tracks the coordinations whose members have not been mentioned alone since.

    A known coordination that the assistant repeats is not renewed.
    """

    def __init__(self) -> None:
        self._known: set[Coordination] = set()
        self._current: dict[Coordination, None] = {}

    @property
    def current(self) -> tuple[Coordination, ...]:
        """The coordinations of which no member has been mentioned alone since."""
        return tuple(self._current)

    def read(self, found: Iterable[Span], groups: Iterable[Candidate], *, user: bool) -> None:
        """Adds the mentions of a text, in text order, and their coordinations."""
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
        """Ends the coordinations of a candidate that was mentioned or referred to alone."""
        for keys in self.current:
            if key in keys:
                del self._current[keys]


def level_coordinated(ranked: Sequence[Ranked], coordinations: Sequence[Coordination]) -> list[Ranked]:
    """The ranking in which coordinated candidates with equal agreement and head share the best of their scores.

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
    """Whether another member of a candidate's coordination has the same score.

    Args:
        key: Of the candidate.
        ranked: Returned by `level_coordinated`.
        coordinations: See `CoordinationTracker.current`.
    """
    scores = {option.candidate.key: option.score for option in ranked}
    peers = {other for keys in coordinations if key in keys for other in keys} - {key}
    return key in scores and any(scores.get(other) == scores[key] for other in peers)
