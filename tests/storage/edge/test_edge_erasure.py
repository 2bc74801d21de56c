"""What an erased user leaves in the files of the embedded vector index."""

import asyncio
from pathlib import Path

import pytest

from memory.ports.stores.generations import VectorModel
from memory.ports.stores.vectors import Collection
from storage.edge.generations import EdgeGenerations
from storage.edge.shards import discard
from tests.storage.conftest import point

MODEL = VectorModel(model_id="e5", dimension=4)
OTHER = VectorModel(model_id="old", dimension=4)
ENTITIES = Collection.ENTITIES


def files_with(folder: Path, word: str) -> list[str]:
    return [str(file) for file in folder.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]


async def test_nothing_of_an_erased_user_is_left_in_any_file_and_others_are_whole(tmp_path: Path) -> None:
    shards = EdgeGenerations(tmp_path)
    for model in (MODEL, OTHER):
        for user_id in ("ann-secret", "bob-kept"):
            own = [point(str(number), payload={"entity_value": f"{user_id} {number}"}) for number in range(5)]
            await shards.index(model).upsert(ENTITIES, own, user_id=user_id)
    await shards.index(MODEL).delete(ENTITIES, [point("3").point_id], user_id="ann-secret")
    await shards.close()
    assert discard(tmp_path, [ENTITIES]) == []  # no aliases, so nothing is live
    shards = EdgeGenerations(tmp_path)  # the other model is opened by nobody but the erasure
    assert await shards.erase_user("ann-secret") == 9
    assert files_with(tmp_path, "ann-secret")
    assert await shards.purge()
    assert files_with(tmp_path, "ann-secret") == []
    assert await shards.index(MODEL).count(ENTITIES, user_id="bob-kept") == 5
    await shards.close()
    assert files_with(tmp_path, "ann-secret") == []
    again = EdgeGenerations(tmp_path)
    found = await again.index(MODEL).get(ENTITIES, [point("3").point_id], user_id="bob-kept")
    assert [dict(kept.payload) for kept in found] == [{"entity_value": "bob-kept 3"}]
    await again.close()


@pytest.mark.parametrize("suffix", [".dropped", ".copy", ".new", ".discarded-20260101T000000.000000Z"])
async def test_shards_that_were_set_aside_or_left_by_a_crash_go_with_a_purge(tmp_path: Path, suffix: str) -> None:
    shards = EdgeGenerations(tmp_path)
    shards.index(MODEL)
    left = tmp_path / f"{ENTITIES.value}__e5{suffix}"
    left.mkdir()
    (left / "page").write_text("ann-secret")
    await shards.purge()
    assert not left.exists()
    await shards.close()


async def test_what_is_read_while_shards_are_rewritten_is_read_from_those_in_their_place(tmp_path: Path) -> None:
    shards = EdgeGenerations(tmp_path)
    index = shards.index(MODEL)
    kept = [point(str(number)) for number in range(5)]
    await index.upsert(ENTITIES, kept, user_id="bob")

    async def rewrite() -> None:
        for _ in range(3):
            await shards.purge()

    async def read() -> None:
        while not rewriting.done():
            found = await index.get(ENTITIES, [kept[0].point_id], user_id="bob")
            assert [one.point_id for one in found] == [kept[0].point_id]
            assert await index.count(ENTITIES, user_id="bob") == len(await index.stored(ENTITIES, user_id="bob")) == 5
            assert await index.users(ENTITIES) == ["bob"]

    rewriting = asyncio.create_task(rewrite())
    await asyncio.gather(rewriting, *(read() for _ in range(4)))
    await shards.close()
