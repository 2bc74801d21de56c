"""The graph leg: what hangs together with what a query names, by weight, confidence and age."""

from datetime import timedelta

from memory.relations.strength import HALF_LIFE
from memory.retrieval.legs import SECOND_HOP_FACTOR, Key, graph_leg
from memory.values.hits import HitKind, SearchRequest
from memory.values.ids import entity_id, memory_id
from tests.memory.conftest import World


def request(world: World, query: str, **fields: object) -> SearchRequest:
    return SearchRequest.model_validate({"query": query, "user_id": "ann", "now": world.now} | fields)


async def test_neighbours_and_the_memories_that_say_so_are_found(world: World) -> None:
    await world.say("王小明在台積電工作。")
    _, _, result = await world.say("台積電和聯發科都漲了。")
    scores = await graph_leg(request(world, "王小明在哪裡？"), world.record)
    chips, media = (Key(HitKind.ENTITY, entity_id("ann", name)) for name in ("台積電", "聯發科"))
    assert scores[chips] > scores[media] > 0
    assert scores[media] <= SECOND_HOP_FACTOR * scores[chips]
    assert Key(HitKind.ENTITY, entity_id("ann", "王小明")) not in scores
    assert Key(HitKind.MEMORY, memory_id("ann", result.turn_id)) in scores


async def test_time_takes_away_and_saying_it_again_adds(world: World) -> None:
    await world.say("AI-Box 和 Qdrant 都壞了。")
    key = Key(HitKind.ENTITY, entity_id("ann", "Qdrant"))
    first = (await graph_leg(request(world, "AI-Box"), world.record))[key]
    world.now += HALF_LIFE
    later = (await graph_leg(request(world, "AI-Box"), world.record))[key]
    await world.say("AI-Box 和 Qdrant 都好了。")
    again = (await graph_leg(request(world, "AI-Box"), world.record))[key]
    assert later < first < again


async def test_only_the_kinds_asked_for_and_nothing_of_others(world: World) -> None:
    await world.say("AI-Box 和 Qdrant 都壞了。")
    only = await graph_leg(request(world, "AI-Box", kinds=(HitKind.MEMORY,)), world.record)
    assert {key.kind for key in only} == {HitKind.MEMORY}
    assert await graph_leg(request(world, "AI-Box", user_id="bob"), world.record) == {}
    assert await graph_leg(request(world, "weather"), world.record) == {}


async def test_one_hop_is_as_far_as_is_asked(world: World) -> None:
    await world.say("王小明在台積電工作。")
    world.now += timedelta(minutes=1)
    await world.say("台積電和聯發科都漲了。")
    near = await graph_leg(request(world, "王小明"), world.record, hops=1)
    assert Key(HitKind.ENTITY, entity_id("ann", "聯發科")) not in near
