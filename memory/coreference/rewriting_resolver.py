"""The resolver with a trained model: combines a rewriter's edits with the rules."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog
from typing_extensions import override

from ..ports.language import QueryRewriter, Resolver
from ..values.dialogue import Role, Turn
from ..values.errors import Overloaded, Unavailable
from ..values.resolutions import CoreferenceResult, ResolutionRequest
from ..values.rewrites import RewriteRequest, RewriteResult
from ..values.text import normalise
from .resolver import RuleResolver
from .revise.revising import revise
from .write.analysis import Analysis
from .write.joining import Joiner

_log = structlog.get_logger(__name__)

_TURNS = 6  # three exchanges: what a rewriter is trained on
_NAMES = 5  # of long-term memory: what a rewriter is trained on


class RewritingResolver(Resolver):
    """Resolves references by rules and a trained rewriter together.

    While the rewriter is busy or down the rules answer alone, and the result is marked degraded.

    Args:
        rules: The resolver by rules.
        rewriter: The trained model.
        floor: Confidence below which the rewriter's edits are ignored, 0–1.
    """

    def __init__(self, rules: RuleResolver, *, rewriter: QueryRewriter, floor: float = 0.5) -> None:
        self._rules = rules
        self._rewriter = rewriter
        self._floor = floor

    @override
    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        return (await self.analyse(request)).result

    async def analyse(self, request: ResolutionRequest) -> Analysis:
        """Resolves a query; a correction or an answer resolves the earlier query that it concerns."""
        revised = await revise(request, analyse=self.analyse, find=self._rules.find)
        return revised or await self._read(request)

    async def _read(self, request: ResolutionRequest) -> Analysis:
        turns = _last_turns(request.turns)
        rewrite_request = RewriteRequest(
            query=request.query, turns=tuple(turn.content for turn in turns), names=_names_not_in_turns(request, turns)
        )
        if not request.query.strip() or not (rewrite_request.turns or rewrite_request.names):
            return await self._rules.read(request)
        analysis, rewrite = await asyncio.gather(self._rules.read(request), self._rewrite(rewrite_request))
        if rewrite is None:
            return replace(analysis, result=analysis.result.model_copy(update={"degraded": ("rewriter",)}))
        return Joiner(request, turns, analysis, floor=self._floor).join(rewrite)

    async def _rewrite(self, rewrite_request: RewriteRequest) -> RewriteResult | None:
        try:
            [rewrite] = await self._rewriter.rewrite([rewrite_request])
        except (Overloaded, Unavailable) as error:
            _log.warning("resolution_degraded", component="rewriter", error=error.message)
            return None
        return rewrite


def _last_turns(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The last turns without the assistant's stock phrases, which mention nothing."""
    return tuple(turn for turn in turns if turn.role is Role.USER or turn.mentions != ())[-_TURNS:]


def _names_not_in_turns(request: ResolutionRequest, turns: Sequence[Turn]) -> tuple[str, ...]:
    """Names of long-term memory that no turn contains."""
    contents = [normalise(turn.content) for turn in turns]
    names = [
        entity.entity_value
        for entity in request.long_term
        if entity.is_current and not any(normalise(entity.entity_value) in content for content in contents)
    ]
    return tuple(names[:_NAMES])
