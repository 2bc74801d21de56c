"""What every session store does (`memory.ports.stores.sessions`): the fake, Redis, and Redis with its safety net."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest

from memory.ports.stores.sessions import (
    CONTEXT_TTL,
    COREFERENCE_HISTORY,
    DEIXIS_WORDS,
    HISTORY_TTL,
    HISTORY_TURNS,
    MENTIONED_ENTITIES,
    SessionStore,
)
from memory.values.errors import InvalidField
from memory.values.understanding.dialogue import Role, SessionContext
from memory.values.understanding.mentions import Mention
from memory.values.understanding.resolutions import (
    Alternative,
    Clarification,
    CoreferenceResolution,
    ReferenceSource,
    Revision,
)
from storage.inmemory.sessions import InMemorySessions
from storage.redis.client import RedisClient
from storage.redis.sessions import RedisSessions
from storage.resilience.fallbacks import ResilientSessions
from storage.shared.encryption import NO_CIPHER, KeyCipher


@pytest.fixture
def clock(make: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(now=make.NOON)


@pytest.fixture(params=["memory", "redis", "redis-encrypted", "resilient"])
async def sessions(request: pytest.FixtureRequest, clock: SimpleNamespace, redis_url: str) -> AsyncIterator[object]:
    if request.param == "memory":
        yield InMemorySessions(now=lambda: clock.now)
        return
    connections = RedisClient(redis_url, timeout_s=20)
    cipher = KeyCipher(bytes(32)) if request.param == "redis-encrypted" else NO_CIPHER
    redis = RedisSessions(connections, cipher=cipher, now=lambda: clock.now)
    if request.param.startswith("redis"):
        yield redis
    else:
        yield ResilientSessions(redis, InMemorySessions(now=lambda: clock.now))
    await connections.close()


def resolution(text: str, entity_id: str | None = None) -> CoreferenceResolution:
    return CoreferenceResolution(
        original_text="它",
        resolved_text=text,
        entity_id=entity_id,
        source=ReferenceSource.SESSION,
        confidence=0.9,
        start=0,
        end=1,
    )


def revision(*, wrong: str, meant: str) -> Revision:
    rejected = Alternative(text=wrong, source=ReferenceSource.SESSION, score=0.9)
    return Revision(query="它呢？", resolution=resolution(meant), rejected=rejected)


async def test_an_unknown_session_is_empty_and_starts_now(sessions: SessionStore, clock: SimpleNamespace) -> None:
    session = await sessions.load("s", user_id="ann")
    assert session.turns == ()
    assert (session.context.session_id, session.context.user_id) == ("s", "ann")
    assert session.context.started_at == session.context.last_activity == clock.now


async def test_what_the_reply_asked_about_is_known_until_the_next_message(
    sessions: SessionStore, make: SimpleNamespace
) -> None:
    await sessions.append("s", user_id="ann", turns=[], to_forget=[["f1", "f2"], ["m"]])
    session = await sessions.load("s", user_id="ann")
    assert session.context.to_forget == (("f1", "f2"), ("m",))
    await sessions.store_context(session.context, user_id="ann")
    assert await sessions.load("s", user_id="ann") == session
    await sessions.append("s", user_id="ann", turns=[make.turn("宏康", "1")])
    assert (await sessions.load("s", user_id="ann")).context.to_forget == ()


async def test_what_was_appended_is_loaded(
    sessions: SessionStore, make: SimpleNamespace, clock: SimpleNamespace
) -> None:
    mentions = (Mention(text="宏康", start=0, end=2),)
    turns = [
        make.turn("宏康是什麼？\x00𠮷", "1").model_copy(update={"mentions": mentions, "speaker": "小明"}),
        make.turn("一家公司", role=Role.ASSISTANT),
    ]
    await sessions.append(
        "s",
        user_id="ann",
        turns=turns,
        mentioned=["e1", "e2"],
        resolutions=[resolution("宏康", "e1"), resolution("某物")],
        deixis=["今天"],
    )
    session = await sessions.load("s", user_id="ann")
    assert session.turns == tuple(turns)
    assert session.context.mentioned_entities == ("e1", "e2")
    assert session.context.last_referred_entity == "e1"
    assert session.context.deixis == ("今天",)
    assert session.context.coreference_history[0] == {
        "original_text": "它",
        "resolved_text": "宏康",
        "entity_id": "e1",
        "source": "session",
        "confidence": 0.9,
    }
    assert len(session.context.coreference_history) == 2


async def test_the_history_keeps_what_a_later_correction_or_answer_needs(sessions: SessionStore) -> None:
    query = "Is her battery better than its?"
    resolved = resolution("Alice", "e1").model_copy(update={"start": 3, "end": 6, "written": "Alice's"})
    options = tuple(Alternative(text=name, source=ReferenceSource.SESSION, score=0.4) for name in ("A", "B"))
    asked = Clarification(question="?", original_text="its", start=27, end=30, options=options, after="'s")
    await sessions.append("s", user_id="ann", turns=[], resolutions=[resolved], asked=asked, query=query)
    first, second = (await sessions.load("s", user_id="ann")).context.coreference_history
    assert (first["query"], first["start"], first["end"], first["before"], first["after"]) == (query, 3, 6, "", "'s")
    assert (second["query"], second["start"], second["end"], second["after"]) == (query, 27, 30, "'s")
    assert (second["original_text"], second["resolved_text"], second["options"]) == ("its", "", ("A", "B"))
    await sessions.append("s", user_id="ann", turns=[], resolutions=[resolved], query=query * 100)
    assert "query" not in (await sessions.load("s", user_id="ann")).context.coreference_history[-1]


async def test_a_turn_that_is_there_is_not_added_again(sessions: SessionStore, make: SimpleNamespace) -> None:
    await sessions.append("s", user_id="ann", turns=[make.turn("a", "1"), make.turn("a", "1"), make.turn("x")])
    await sessions.append("s", user_id="ann", turns=[make.turn("a", "1"), make.turn("b", "2"), make.turn("x")])
    session = await sessions.load("s", user_id="ann")
    assert [turn.content for turn in session.turns] == ["a", "x", "b", "x"]


async def test_an_entity_that_is_mentioned_again_moves_to_the_end(sessions: SessionStore) -> None:
    await sessions.append("s", user_id="ann", turns=[], mentioned=["a", "b", "a", "c"])
    await sessions.append("s", user_id="ann", turns=[], mentioned=["b"])
    assert (await sessions.load("s", user_id="ann")).context.mentioned_entities == ("a", "c", "b")


async def test_the_last_referred_entity_stays_until_another_is_referred_to(sessions: SessionStore) -> None:
    await sessions.append("s", user_id="ann", turns=[], resolutions=[resolution("A", "a"), resolution("B", "b")])
    await sessions.append("s", user_id="ann", turns=[], resolutions=[resolution("C")])
    assert (await sessions.load("s", user_id="ann")).context.last_referred_entity == "b"


async def test_what_the_caller_referred_to_goes_before_the_resolutions(sessions: SessionStore) -> None:
    await sessions.append("s", user_id="ann", turns=[], resolutions=[resolution("A", "a")], referred="c")
    assert (await sessions.load("s", user_id="ann")).context.last_referred_entity == "c"
    await sessions.append("s", user_id="ann", turns=[], referred="d")
    await sessions.append("s", user_id="ann", turns=[])
    assert (await sessions.load("s", user_id="ann")).context.last_referred_entity == "d"


async def test_a_repeated_append_changes_nothing(sessions: SessionStore, make: SimpleNamespace) -> None:
    async def say() -> None:
        await sessions.append(
            "s",
            user_id="ann",
            turns=[make.turn("a", "1"), make.turn("b", "2")],
            mentioned=["e"],
            resolutions=[resolution("A", "a")],
            deixis=["今天"],
        )

    await say()
    once = await sessions.load("s", user_id="ann")
    await say()
    assert await sessions.load("s", user_id="ann") == once


async def test_what_was_seen_without_turns_is_added_each_time(sessions: SessionStore) -> None:
    for _ in range(2):
        await sessions.append("s", user_id="ann", turns=[], resolutions=[resolution("A")], deixis=["今天"])
    context = (await sessions.load("s", user_id="ann")).context
    assert (len(context.coreference_history), context.deixis) == (2, ("今天", "今天"))


def stored_context(make: SimpleNamespace, **fields: object) -> SessionContext:
    given = {"session_id": "s", "user_id": "ann", "started_at": make.at(-60), "last_activity": make.at(-30)}
    return SessionContext.model_validate(given | fields)


async def test_a_stored_context_replaces_all_but_the_turns(sessions: SessionStore, make: SimpleNamespace) -> None:
    await sessions.append("s", user_id="ann", turns=[make.turn("a")], mentioned=["x"], deixis=["今天"], referred="x")
    context = stored_context(
        make,
        mentioned_entities=("e1", "e2"),
        last_referred_entity="e2",
        coreference_history=({"original_text": "它", "confidence": 0.9, "entity_id": None},),
    )
    await sessions.store_context(context, user_id="ann")
    session = await sessions.load("s", user_id="ann")
    assert session.context == context
    assert [turn.content for turn in session.turns] == ["a"]
    await sessions.store_context(stored_context(make), user_id="ann")
    assert (await sessions.load("s", user_id="ann")).context == stored_context(make)


async def test_a_stored_context_of_a_new_session_can_be_added_to(
    sessions: SessionStore, make: SimpleNamespace, clock: SimpleNamespace
) -> None:
    await sessions.store_context(stored_context(make, mentioned_entities=("e",)), user_id="ann")
    await sessions.append("s", user_id="ann", turns=[make.turn("a")], mentioned=["f"])
    context = (await sessions.load("s", user_id="ann")).context
    assert context.mentioned_entities == ("e", "f")
    assert (context.started_at, context.last_activity) == (make.at(-60), clock.now)


async def test_a_stored_context_is_cut_to_its_bounds(sessions: SessionStore, make: SimpleNamespace) -> None:
    words = tuple(str(n) for n in range(60))
    context = stored_context(
        make,
        mentioned_entities=(*words, "0"),
        coreference_history=tuple({"original_text": word} for word in words),
        deixis=words,
    )
    await sessions.store_context(context, user_id="ann")
    kept = (await sessions.load("s", user_id="ann")).context
    assert kept.mentioned_entities == (*words[1:], "0")[-MENTIONED_ENTITIES:]
    assert kept.coreference_history == context.coreference_history[-COREFERENCE_HISTORY:]
    assert kept.deixis == words[-DEIXIS_WORDS:]


async def test_the_context_of_another_user_is_not_stored(sessions: SessionStore, make: SimpleNamespace) -> None:
    context = stored_context(make, mentioned_entities=("e",))
    with pytest.raises(InvalidField):
        await sessions.store_context(context, user_id="bob")
    for user in ("ann", "bob"):
        assert (await sessions.load("s", user_id=user)).context.mentioned_entities == ()


async def test_every_list_is_cut_to_its_bound_oldest_first(sessions: SessionStore, make: SimpleNamespace) -> None:
    for batch in range(3):
        words = [f"{batch}-{n}" for n in range(40)]
        await sessions.append(
            "s",
            user_id="ann",
            turns=[make.turn(word, word) for word in words],
            mentioned=words,
            resolutions=[resolution(word, word) for word in words],
            deixis=words,
        )
    session = await sessions.load("s", user_id="ann")
    for kept, bound in (
        (session.turns, HISTORY_TURNS),
        (session.context.mentioned_entities, MENTIONED_ENTITIES),
        (session.context.coreference_history, COREFERENCE_HISTORY),
        (session.context.deixis, DEIXIS_WORDS),
    ):
        assert len(kept) == bound
    assert session.turns[-1].content == session.context.mentioned_entities[-1] == session.context.deixis[-1] == "2-39"


async def test_a_session_keeps_when_it_started_and_was_last_active(
    sessions: SessionStore, make: SimpleNamespace, clock: SimpleNamespace
) -> None:
    await sessions.append("s", user_id="ann", turns=[])
    clock.now = make.at(60)
    await sessions.append("s", user_id="ann", turns=[])
    clock.now = make.at(90)
    context = (await sessions.load("s", user_id="ann")).context
    assert (context.started_at, context.last_activity) == (make.NOON, make.at(60))


async def test_concurrent_appends_lose_nothing(sessions: SessionStore, make: SimpleNamespace) -> None:
    async def append(n: int) -> None:
        await sessions.append("s", user_id="ann", turns=[make.turn(str(n), str(n))], mentioned=[str(n)])

    await asyncio.gather(*(append(n) for n in range(HISTORY_TURNS)))
    session = await sessions.load("s", user_id="ann")
    everything = {str(n) for n in range(HISTORY_TURNS)}
    assert {turn.content for turn in session.turns} == everything
    assert set(session.context.mentioned_entities) == everything


async def test_a_cleared_session_is_new(sessions: SessionStore, make: SimpleNamespace) -> None:
    await sessions.append("s", user_id="ann", turns=[make.turn("a")], mentioned=["e"], deixis=["今天"])
    await sessions.clear("s", user_id="ann")
    await sessions.clear("s", user_id="ann")
    session = await sessions.load("s", user_id="ann")
    assert (session.turns, session.context.mentioned_entities, session.context.deixis) == ((), (), ())


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (("ann", "s"), ("bob", "s")),
        (("a:b", "c"), ("a", "b:c")),
        (("a}", "{s"), ("a", "}{s")),
        (("a%3A", "s"), ("a:", "s")),
    ],
)
async def test_no_pair_of_ids_poses_as_another(
    sessions: SessionStore, make: SimpleNamespace, mine: tuple[str, str], theirs: tuple[str, str]
) -> None:
    await sessions.append(mine[1], user_id=mine[0], turns=[make.turn("secret")])
    assert (await sessions.load(theirs[1], user_id=theirs[0])).turns == ()
    await sessions.clear(theirs[1], user_id=theirs[0])
    assert len((await sessions.load(mine[1], user_id=mine[0])).turns) == 1


@pytest.mark.parametrize(
    ("user_id", "session_id"), [("", "s"), ("ann", ""), ("a\n", "s"), ("ann", "x" * 129), ("\ud800", "s")]
)
async def test_an_impossible_id_is_refused(sessions: SessionStore, user_id: str, session_id: str) -> None:
    with pytest.raises(InvalidField):
        await sessions.load(session_id, user_id=user_id)
    with pytest.raises(InvalidField):
        await sessions.append(session_id, user_id=user_id, turns=[])
    with pytest.raises(InvalidField):
        await sessions.clear(session_id, user_id=user_id)


async def test_a_living_store_answers(sessions: SessionStore) -> None:
    await sessions.ping()


async def test_turns_fade_before_the_context(make: SimpleNamespace) -> None:
    now = make.NOON
    store = InMemorySessions(now=lambda: now)
    await store.append("s", user_id="ann", turns=[make.turn("a")], mentioned=["e"])
    now = make.NOON + HISTORY_TTL
    faded = await store.load("s", user_id="ann")
    assert (faded.turns, faded.context.mentioned_entities) == ((), ("e",))
    now = make.NOON + CONTEXT_TTL
    assert (await store.load("s", user_id="ann")).context.mentioned_entities == ()


async def test_a_stored_context_does_not_renew_the_turns(make: SimpleNamespace) -> None:
    now = make.NOON
    store = InMemorySessions(now=lambda: now)
    await store.append("s", user_id="ann", turns=[make.turn("a")])
    now = make.NOON + HISTORY_TTL / 2
    await store.store_context(stored_context(make), user_id="ann")
    now = make.NOON + HISTORY_TTL
    assert (await store.load("s", user_id="ann")).turns == ()
    now = make.NOON + CONTEXT_TTL
    assert (await store.load("s", user_id="ann")).context == stored_context(make)


async def test_a_revision_marks_the_latest_entry_that_it_takes_back_and_no_other(
    sessions: SessionStore, make: SimpleNamespace
) -> None:
    said = [resolution("A"), resolution("A").model_copy(update={"confidence": 0.1 + 0.2}), resolution("B")]
    await sessions.append("s", user_id="ann", turns=[make.turn("a", "1")], resolutions=said)
    for _ in range(2):  # the second is a repetition
        await sessions.append(
            "s", user_id="ann", turns=[make.turn("b", "2")], revision=revision(wrong="A", meant="C𠮷")
        )
    await sessions.append("s", user_id="ann", turns=[make.turn("c", "3")], revision=revision(wrong="D", meant="E"))
    history = (await sessions.load("s", user_id="ann")).context.coreference_history
    assert [entry.get("corrected") for entry in history] == [None, "C𠮷", None]
    assert history[1]["confidence"] == 0.1 + 0.2  # to the last digit
    await sessions.append("s", user_id="ann", turns=[make.turn("d", "4")], revision=revision(wrong="A", meant="F"))
    history = (await sessions.load("s", user_id="ann")).context.coreference_history
    assert [entry.get("corrected") for entry in history] == ["F", "C𠮷", None]


async def test_a_revision_that_takes_nothing_back_marks_nothing(sessions: SessionStore) -> None:
    answer = revision(wrong="A", meant="C").model_copy(update={"rejected": None})
    await sessions.append("s", user_id="ann", turns=[], resolutions=[resolution("A")])
    await sessions.append("s", user_id="ann", turns=[], revision=answer)
    assert "corrected" not in (await sessions.load("s", user_id="ann")).context.coreference_history[0]


async def test_simultaneous_turns_lose_no_mark_of_a_correction(sessions: SessionStore, make: SimpleNamespace) -> None:
    things = [f"thing {n}" for n in range(8)]
    said = [resolution(thing) for thing in things]
    await sessions.append("s", user_id="ann", turns=[make.turn("a")], resolutions=said)

    async def turn(n: int, correction: Revision | None) -> None:
        turns = [make.turn(f"turn {n}", f"turn {n}")]
        resolutions = [correction.resolution] if correction else []
        await sessions.append("s", user_id="ann", turns=turns, resolutions=resolutions, revision=correction)

    corrections = [revision(wrong=thing, meant=f"not {thing}") for thing in things]
    await asyncio.gather(*(turn(n, correction) for n, correction in enumerate([*corrections, *[None] * 8])))
    session = await sessions.load("s", user_id="ann")
    marks = {entry["resolved_text"]: entry.get("corrected") for entry in session.context.coreference_history}
    assert marks == {thing: f"not {thing}" for thing in things} | {f"not {thing}": None for thing in things}
    assert len(session.turns) == 1 + 16


async def test_all_sessions_of_a_user_are_cleared_and_those_of_others_stay(
    sessions: SessionStore, make: SimpleNamespace
) -> None:
    users = ("ann", "ann:s", "an", "*", "Ann")
    for user_id in users:
        for session_id in ("s", "t:*"):
            await sessions.append(session_id, user_id=user_id, turns=[make.turn(f"of {user_id}")])
    assert await sessions.clear_user("ann") == 2
    assert await sessions.clear_user("ann") == 0
    assert await sessions.clear_user("*") == 2
    for user_id in users:
        for session_id in ("s", "t:*"):
            kept = (await sessions.load(session_id, user_id=user_id)).turns
            assert len(kept) == (user_id not in ("ann", "*"))


async def test_turns_are_forgotten_with_what_the_session_refers_to_and_others_stay(
    sessions: SessionStore, make: SimpleNamespace
) -> None:
    for session_id in ("s", "t"):
        turns = [make.turn("a", "1"), make.turn("b", "2"), make.turn("c")]
        await sessions.append(session_id, user_id="ann", turns=turns, mentioned=["e"], deixis=["today"])
    other = await sessions.load("t", user_id="ann")
    assert await sessions.forget("s", user_id="ann", turn_ids=["1", "unknown"])
    left = await sessions.load("s", user_id="ann")
    assert [turn.content for turn in left.turns] == ["b", "c"]
    assert (left.context.mentioned_entities, left.context.deixis) == ((), ())
    assert left.context.started_at == left.turns[0].created_at
    assert not await sessions.forget("s", user_id="ann", turn_ids=["1"])
    assert not await sessions.forget("unknown", user_id="ann", turn_ids=["1"])
    assert await sessions.load("t", user_id="ann") == other
    await sessions.append("s", user_id="ann", turns=[make.turn("d", "4")])
    assert [turn.content for turn in (await sessions.load("s", user_id="ann")).turns] == ["b", "c", "d"]


async def test_a_purge_keeps_the_sessions(sessions: SessionStore, make: SimpleNamespace) -> None:
    await sessions.append("s", user_id="ann", turns=[make.turn("a")])
    assert await sessions.purge()
    assert len((await sessions.load("s", user_id="ann")).turns) == 1
