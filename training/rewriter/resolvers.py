"""Runs evaluation rows through the resolvers of the domain: the rules alone, and the rules joined with a rewriter."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from memory.coreference.rewriting_resolver import RewritingResolver
from rich.console import Console
from rich.progress import track
from typing_extensions import override

from memory.coreference.resolver import RuleResolver
from memory.extraction.extractor import RuleExtractor
from memory.ports.language import Priority, QueryRewriter, Resolver
from memory.values.dialogue import Role, Turn
from memory.values.resolutions import ResolutionRequest
from memory.values.rewrites import RewriteRequest, RewriteResult

from .data import RewritingRow

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


class KnownRewrites(QueryRewriter):
    """Answers from rewrites that were computed before, and notes what it was asked for and could not answer.

    Args:
        known: By request.
    """

    def __init__(self, known: Mapping[RewriteRequest, RewriteResult] | None = None) -> None:
        self._known = dict(known or {})
        self.missed: dict[RewriteRequest, None] = {}

    @override
    async def rewrite(
        self, requests: Sequence[RewriteRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[RewriteResult]:
        self.missed |= dict.fromkeys(request for request in requests if request not in self._known)
        return [self._known.get(request) or _unchanged(request.query) for request in requests]


def rules() -> RuleResolver:
    """Builds the rule resolver."""
    return RuleResolver(extractor=RuleExtractor())


def joined(rewriter: QueryRewriter) -> RewritingResolver:
    """Builds the rules joined with a rewriter."""
    return RewritingResolver(rules(), rewriter=rewriter)


def resolve_rows(resolver: Resolver, rows: Sequence[RewritingRow], name: str) -> list[str]:
    """Resolves the queries of rows; turns alternate, and the last one is the assistant's."""

    async def run() -> list[str]:
        progress = track(rows, description=name, console=Console(stderr=True), transient=True)
        return [(await resolver.resolve(request_of(row))).resolved_query for row in progress]

    return asyncio.run(run())


def request_of(row: RewritingRow) -> ResolutionRequest:
    """Builds the resolution request of a row."""
    roles = [Role.USER if (len(row.turns) - at) % 2 == 0 else Role.ASSISTANT for at in range(len(row.turns))]
    turns = tuple(
        Turn(role=role, content=text, created_at=_NOW) for role, text in zip(roles, row.turns, strict=True)
    )  # fmt: skip
    return ResolutionRequest(query=row.query, user_id="evaluation", turns=turns, now=_NOW)


def _unchanged(query: str) -> RewriteResult:
    return RewriteResult(text=query, keep_probability=1.0, confidence=1.0)
