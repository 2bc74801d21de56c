"""The rewriter that ships, joined with the rules: the cases, traps and dialogues that these hold must still hold."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from memory.coreference.rewriting_resolver import RewritingResolver
from models.rewriter.rewriter import TrainedRewriter
from tests.memory.coreference.conftest import ListedNames, entity, request
from training.rewriter.resolvers import KnownRewrites

from memory.coreference.resolver import RuleResolver
from memory.extraction.extractor import RuleExtractor
from memory.ports.language import Extractor
from memory.values.dialogue import Role, Turn
from memory.values.entities import Entity
from memory.values.mentions import EntitySubtype, MentionLevel
from memory.values.resolutions import CoreferenceResult, ReferenceSource
from models.assets.weight_files import shipped_weight_file
from testing.coreference.cases import read_cases

_DIALOGUES = Path(__file__).parents[2] / "memory" / "coreference"
_MOST_BYTES = 15_000_000
_HELD_OUT_SHARE = 0.75  # of dialogues that nobody tuned on
_REAL_SHARE = 0.98  # of cases, with an extractor that was not told the names

Outcome = tuple[str, str, str]
"""What was said, what it should become, what it became."""


@pytest.fixture(scope="module")
def rewriter(e5_folder: Path) -> TrainedRewriter:
    return TrainedRewriter(shipped_weight_file("rewriter"), e5_folder.parent, threads=1)


def run_with_rewrites(
    rewriter: TrainedRewriter, work: Callable[[KnownRewrites], Awaitable[list[Outcome]]]
) -> list[Outcome]:
    """Does the work twice: once to learn what the rewriter is asked, and once with its answers, computed together."""
    recorder = KnownRewrites()
    asyncio.run(run_work(work, recorder))
    requests = list(recorder.missed)
    rewrites = KnownRewrites(dict(zip(requests, rewriter.rewrite(requests), strict=True)))
    outcomes = asyncio.run(run_work(work, rewrites))
    assert not rewrites.missed
    return outcomes


async def run_work(
    work: Callable[[KnownRewrites], Awaitable[list[Outcome]]], known: KnownRewrites
) -> list[Outcome]:  # fmt: skip
    return await work(known)


def resolved_cases(*, traps: bool, extractor: Extractor) -> Callable[[KnownRewrites], Awaitable[list[Outcome]]]:
    async def work(known: KnownRewrites) -> list[Outcome]:
        resolver = RewritingResolver(RuleResolver(extractor=extractor), rewriter=known)
        return [
            (case.query, case.expected, (await resolver.resolve(request(case.query, case.turns))).resolved_query)
            for case in read_cases("tuned")
            if (case.type == "trap") is traps
        ]

    return work


def dialogue_outcomes(name: str) -> Callable[[KnownRewrites], Awaitable[list[Outcome]]]:
    async def work(known: KnownRewrites) -> list[Outcome]:
        outcomes = []
        for block in (_DIALOGUES / name).read_text(encoding="utf-8").split("## ")[1:]:
            outcomes += await _dialogue(block.strip().splitlines()[1:], known)
        return outcomes

    return work


async def _dialogue(lines: list[str], known: KnownRewrites) -> list[Outcome]:
    extractor = RuleExtractor()
    resolver = RewritingResolver(RuleResolver(extractor=extractor), rewriter=known)
    turns: list[Turn] = []
    learned: dict[str, EntitySubtype | None] = {}
    outcomes = []
    for line, reply in zip(lines[::2], lines[1::2], strict=True):
        query, _, expected = line.partition(" => ")
        long_term = tuple(entity(name, subtype) for name, subtype in reversed(learned.items()))
        resolution_request = request(query, long_term=long_term).model_copy(update={"turns": tuple(turns)})
        outcomes.append((query, expected or query, (await resolver.resolve(resolution_request)).resolved_query))
        for role, content in ((Role.USER, query), (Role.ASSISTANT, reply.removeprefix("> "))):
            turns.append(Turn(role=role, content=content, created_at=resolution_request.now))
        for mention in extractor.extract_one(query).mentions:
            if mention.level is MentionLevel.LONG_TERM:
                learned[mention.text] = learned.pop(mention.text, None) or mention.subtype
    return outcomes


def wrong_outcomes(outcomes: list[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome[1] != outcome[2]]


def test_the_file_is_small_and_has_a_card() -> None:
    file = shipped_weight_file("rewriter")
    assert file.stat().st_size < _MOST_BYTES
    assert file.with_suffix(".json").exists()
    card = file.with_suffix(".md").read_text(encoding="utf-8")
    assert "licence" in card.lower()


@pytest.mark.parametrize("traps", [False, True])
def test_every_case_and_every_trap_holds(rewriter: TrainedRewriter, traps: bool) -> None:
    assert wrong_outcomes(run_with_rewrites(rewriter, resolved_cases(traps=traps, extractor=ListedNames()))) == []


@pytest.mark.parametrize("traps", [False, True])
def test_they_hold_with_the_real_extractor_too(rewriter: TrainedRewriter, traps: bool) -> None:
    outcomes = run_with_rewrites(rewriter, resolved_cases(traps=traps, extractor=RuleExtractor()))
    assert len(wrong_outcomes(outcomes)) <= (1 - _REAL_SHARE) * len(outcomes), wrong_outcomes(outcomes)


def test_each_line_of_the_dialogues_holds(rewriter: TrainedRewriter) -> None:
    assert wrong_outcomes(run_with_rewrites(rewriter, dialogue_outcomes("dialogues.txt"))) == []


def test_dialogues_that_nobody_tuned_on_hold_mostly(rewriter: TrainedRewriter) -> None:
    outcomes = run_with_rewrites(rewriter, dialogue_outcomes("dialogues_held_out.txt"))
    assert len(wrong_outcomes(outcomes)) <= (1 - _HELD_OUT_SHARE) * len(outcomes), wrong_outcomes(outcomes)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("上次說的那個系統支援中文嗎？", "AI-Box 支援中文嗎？"),
        ("之前说的那个系统多少钱", "AI-Box 多少钱"),
        ("How much is the one from last week?", "How much is AI-Box?"),
    ],
)
def test_last_time_reaches_what_another_session_said(rewriter: TrainedRewriter, query: str, expected: str) -> None:
    entities: tuple[Entity, ...] = (
        entity("AI-Box", EntitySubtype.PRODUCT), entity("張小姐", EntitySubtype.PERSON)
    )  # fmt: skip
    results: list[CoreferenceResult] = []

    async def work(rewrites: KnownRewrites) -> list[Outcome]:
        resolver = RewritingResolver(RuleResolver(extractor=ListedNames()), rewriter=rewrites)
        results.append(await resolver.resolve(request(query, ("早安", "早安！"), long_term=entities)))
        return [(query, expected, results[-1].resolved_query)]

    assert wrong_outcomes(run_with_rewrites(rewriter, work)) == []
    (resolution,) = results[-1].resolutions
    assert resolution.source is ReferenceSource.LONG_TERM
    assert resolution.entity_id == entities[0].entity_id
