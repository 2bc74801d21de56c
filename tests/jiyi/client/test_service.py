"""Both clients against the real app over fakes: what comes back is typed, and the same."""

import io
from collections.abc import AsyncIterator

import pytest

from jiyi import AsyncClient, Client
from jiyi.client.events import Delta, Done, Found, Resolved
from jiyi.errors import InvalidRequest, NotFound
from memory.values.hits import HitKind

SAID, ASKED = "我們公司買了 AI-Box，放在三樓機房。", "它放在哪裡？"


@pytest.fixture
async def jiyi(url: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(url) as client:
        yield client


def test_a_conversation_is_remembered_resolved_and_found(url: str) -> None:
    with Client(url) as jiyi:
        jiyi.chat(SAID, user_id="ann", wait=True)
        reply = jiyi.chat(ASKED, user_id="ann")
        assert reply.resolved_query == "AI-Box 放在哪裡？"
        assert "三樓機房" in reply.reply
        [hit, *_] = jiyi.search("機房", user_id="ann", kinds=[HitKind.MEMORY]).results
        assert hit.text == SAID
        before = jiyi.before_reply(ASKED, user_id="ann")
        assert before.resolved_query == reply.resolved_query
        jiyi.after_reply("The bicycle is in the cellar.", user_id="ann", reply="All right.")
        assert jiyi.session("default", user_id="ann").turns
        assert [entity.entity_value for entity in jiyi.entities.search("AI-Box", user_id="ann").results] == ["AI-Box"]


async def test_the_same_with_asyncio(jiyi: AsyncClient) -> None:
    await jiyi.chat(SAID, user_id="ann", wait=True)
    reply = await jiyi.chat(ASKED, user_id="ann")
    assert reply.resolved_query == "AI-Box 放在哪裡？"
    events = [event async for event in jiyi.stream(ASKED, user_id="ann")]
    done = events[-1]
    assert isinstance(events[0], Resolved)
    assert any(isinstance(event, Found) for event in events)
    assert isinstance(done, Done)
    assert "".join(event.text for event in events if isinstance(event, Delta)) == done.reply.reply


def test_a_message_that_is_sent_twice_is_kept_once(url: str) -> None:
    with Client(url) as jiyi:
        for _ in range(2):
            jiyi.add([{"content": "RM05-008 arrived.", "turn_id": "t1"}], user_id="ann")
        assert len([*jiyi.memories.timeline(user_id="ann")]) == 1


async def test_a_list_goes_over_all_of_its_pages(jiyi: AsyncClient) -> None:
    await jiyi.add([{"content": f"Part ZX{number}-77 is in hall {number}."} for number in range(7)], user_id="ann")
    listed = jiyi.memories.timeline(user_id="ann", limit=3)
    assert len([entry async for entry in listed]) == 7
    first = await listed.first()
    assert (len(first.results), first.next is None) == (3, False)
    assert [len(page.results) async for page in listed.pages()] == [3, 3, 1]


def test_everything_of_a_user_moves_to_another(url: str) -> None:
    with Client(url) as jiyi:
        jiyi.chat(SAID, user_id="ann", wait=True)
        file = io.BytesIO(b"".join(jiyi.export(user_id="ann")))
        imported = jiyi.import_(file, user_id="bob", from_user_id="ann")
        assert sum(imported.imported.values()) > 0
        assert jiyi.import_(file, user_id="bob", from_user_id="ann").imported == {}


async def test_a_file_is_imported_with_asyncio_too(jiyi: AsyncClient) -> None:
    await jiyi.chat(SAID, user_id="ann", wait=True)
    file = io.BytesIO(b"".join([piece async for piece in jiyi.export(user_id="ann")]))
    assert (await jiyi.import_(file, user_id="bob", from_user_id="ann")).imported


def test_documents_facts_typed_memories_and_runs(url: str) -> None:
    with Client(url) as jiyi:
        corpus = jiyi.knowledge.create("shop", config={"chunking": {"chunk_size": 400}})
        [taken] = jiyi.knowledge.ingest_text(corpus.corpus_id, "# 保固\n\n保固期為兩年。", source_uri="m").results
        assert taken.state == "ready"
        assert [source.source_uri for source in jiyi.knowledge.sources(corpus.corpus_id)] == ["m"]
        assert jiyi.knowledge.search("保固", corpus_ids=[corpus.corpus_id]).results[0].source_uri == "m"
        jiyi.chat("I moved to Boston in March 2025.", user_id="ann", wait=True)
        assert [fact.object for fact in jiyi.facts.list(user_id="ann")] == ["Boston"]
        assert "Boston" in jiyi.context(user_id="ann").context
        stored = jiyi.typed_memories.store("part_number", "RM05-008", user_id="ann", confidence=0.8)
        listed = jiyi.typed_memories.list(user_id="ann", entity_type="part_number")
        assert [each.memory_id for each in listed] == [stored.memory.memory_id]
        run = jiyi.index.verify()
        assert [*jiyi.runs.follow(run.run_id)][-1].name == "end"
        assert jiyi.runs.get(run.run_id).kind == "index_verify"
        assert jiyi.operations.health().parts["record"]["status"] == "ok"
        assert len(jiyi.embed(["a", "b"]).data) == 2


def test_a_user_is_erased_with_a_receipt(url: str) -> None:
    with Client(url) as jiyi:
        jiyi.chat(SAID, user_id="ann", wait=True)
        erasure = jiyi.erasures.erase(user_id="ann", kind="user", wait=True)
        assert erasure.receipt is not None
        assert jiyi.search("機房", user_id="ann").results == ()


def test_a_key_is_made_listed_and_revoked(url: str) -> None:
    with Client(url) as jiyi:
        issued = jiyi.keys.create("backend", scope="app")
        assert issued.secret.startswith(issued.key.prefix)
        assert [key.name for key in jiyi.keys.list()] == ["backend"]
        assert jiyi.keys.revoke(issued.key.key_id).revoked_at


def test_a_mistake_names_the_field_and_what_is_allowed(url: str) -> None:
    with Client(url) as jiyi, pytest.raises(InvalidRequest, match="top_k") as refused:
        jiyi.search("x", user_id="ann", top_k=0)
    [wrong] = refused.value.fields
    assert (wrong.field, wrong.allowed) == ("top_k", "at least 1")
    with Client(url) as jiyi, pytest.raises(NotFound):
        jiyi.memories.get("0b5e4d4e-0000-4000-8000-000000000000", user_id="ann")
