"""Query rewriters for tests: one with scripted edits, one that fails."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.language import Priority, QueryRewriter
from memory.values.rewrites import Antecedent, Replacement, RewriteRequest, RewriteResult

Span = tuple[str, str]
"""What is replaced, empty for an insertion behind what stands before `|`, and what is written.

What is written is a span of a turn or of the names; braces mark it where other words stand around it: "of {Redis}".
"""


class ScriptedRewriter(QueryRewriter):
    """Applies the scripted edits whose position occurs in the query."""

    def __init__(self, *edits: Span, confidence: float = 0.9, keep: float = 0.0) -> None:
        self.requests: list[RewriteRequest] = []
        self._edits = edits
        self._confidence = confidence
        self._keep = keep

    @override
    async def rewrite(
        self, requests: Sequence[RewriteRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[RewriteResult]:
        self.requests += requests
        return [self._rewritten(request) for request in requests]

    def _rewritten(self, request: RewriteRequest) -> RewriteResult:
        replacements = []
        for at, text in self._edits:
            before, _, replaced = at.rpartition("|")
            if (before or replaced) not in request.query:
                continue
            start = request.query.index(before) + len(before) if before else request.query.index(replaced)
            replacements.append(self._replacement(request, start, start + len(replaced), text))
        return RewriteResult(
            text=request.query,
            replacements=tuple(replacements),
            keep_probability=self._keep,
            confidence=self._confidence,
        )

    def _replacement(self, request: RewriteRequest, start: int, end: int, text: str) -> Replacement:
        turns: list[tuple[int | None, str]] = [*enumerate(request.turns), (None, "、".join(request.names))]
        copied = text.partition("{")[2].partition("}")[0] or text
        antecedents = [
            Antecedent(text=copied, turn=turn, start=(at := said.index(copied)), end=at + len(copied), probability=0.9)
            for turn, said in reversed(turns)
            if copied in said
        ]
        return Replacement(
            start=start,
            end=end,
            text=text.replace("{", "").replace("}", ""),
            antecedents=tuple(antecedents[:1]),
            confidence=self._confidence,
        )


class DownRewriter(QueryRewriter):
    """Raises on every request."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    @override
    async def rewrite(
        self, requests: Sequence[RewriteRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[RewriteResult]:
        raise self._error
