"""The tables: what becomes of a query, in Traditional and Simplified Chinese and in English."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from memory.coreference.resolutions import CoreferenceResult, ResolutionRequest
from memory.coreference.resolver import RuleResolver
from memory.extraction.extractor import RuleExtractor

_FOLDER = Path(__file__).parent
_REAL_SHARE = 0.98  # of the resolved cases, with an extractor that was not told the names


def _cases(name: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            said, _, expected = line.partition(" => ")
            *turns, query = said.split(" ¦ ")
            yield tuple(turns), query, expected or query


def _named(name: str) -> list[object]:
    return [pytest.param(*case, id=f"{case[0][0] if case[0] else ''} ¦ {case[1]}") for case in _cases(name)]


@pytest.mark.parametrize(("turns", "query", "expected"), _named("cases_resolved.txt"))
async def test_a_reference_becomes_its_antecedent(
    resolve: Callable[..., Awaitable[CoreferenceResult]], turns: tuple[str, ...], query: str, expected: str
) -> None:
    result = await resolve(query, *turns)
    assert result.resolved_query == expected
    for one in result.resolutions:
        assert query[one.start : one.end] == one.original_text
        assert one.reason
        assert result.confidence <= one.confidence <= 1


@pytest.mark.parametrize(("turns", "query", "expected"), _named("cases_unchanged.txt"))
async def test_what_does_not_refer_or_has_no_sure_antecedent_stays(
    resolve: Callable[..., Awaitable[CoreferenceResult]], turns: tuple[str, ...], query: str, expected: str
) -> None:
    result = await resolve(query, *turns)
    assert result.resolved_query == expected
    assert result.resolutions == ()


async def test_the_tables_hold_at_least_150_cases() -> None:
    assert len([*_cases("cases_resolved.txt"), *_cases("cases_unchanged.txt")]) >= 150


async def test_most_cases_hold_with_the_real_extractor(make_request: Callable[..., ResolutionRequest]) -> None:
    resolver = RuleResolver(extractor=RuleExtractor())
    cases = list(_cases("cases_resolved.txt"))
    missed = []
    for turns, query, expected in cases:
        result = await resolver.resolve(make_request(query, turns))
        if result.resolved_query != expected:
            missed.append(f"{' ¦ '.join((*turns, query))} => {result.resolved_query}")
    assert len(missed) <= (1 - _REAL_SHARE) * len(cases), "\n".join(missed)


async def test_traps_hold_with_the_real_extractor(make_request: Callable[..., ResolutionRequest]) -> None:
    resolver = RuleResolver(extractor=RuleExtractor())
    changed = []
    for turns, query, _ in _cases("cases_unchanged.txt"):
        result = await resolver.resolve(make_request(query, turns))
        if result.resolved_query != query:
            changed.append(f"{' ¦ '.join((*turns, query))} => {result.resolved_query}")
    assert len(changed) <= (1 - _REAL_SHARE) * len(list(_cases("cases_unchanged.txt"))), "\n".join(changed)
