"""How collections of a Qdrant server come to be, and which of them are live: over real HTTP, against the stand-in."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest
from qdrant_client import models

from memory.ports.stores.vectors import Collection, IndexQuery
from memory.values.errors import InvalidField, StoreUnavailable
from storage.qdrant.vectors import QdrantSettings, QdrantVectors, Quantisation
from storage.shared.index_points import indexed_fields, scanned_points
from testing.qdrant_standin import QdrantStandIn

ENTITIES, MEMORIES = Collection.ENTITIES, Collection.MEMORIES


def connected(
    server: QdrantStandIn,
    model_id: str = "e5",
    *,
    dimension: int = 4,
    live: bool = True,
    quantisation: Quantisation | None = None,
) -> QdrantVectors:
    settings = QdrantSettings(server.url, deadline_s=10, quantisation=quantisation)
    return QdrantVectors.connect(settings, model_id=model_id, dimension=dimension, live=live)


async def aliases(server: QdrantStandIn) -> dict[str, str]:
    found = (await server.engine.client.get_aliases()).aliases
    return {alias.alias_name: alias.collection_name for alias in found}


async def test_connecting_sends_nothing(qdrant: QdrantStandIn) -> None:
    index = connected(qdrant)
    await index.search([], user_id="ann")
    await index.close()
    assert qdrant.seen == []


async def test_the_first_use_makes_the_collection_its_indexes_and_its_alias(qdrant: QdrantStandIn) -> None:
    index = connected(qdrant, "intfloat/e5")
    assert await index.count(ENTITIES, user_id="ann") == 0
    await index.close()
    name = "ai_box_entity_memory__intfloat%2Fe5"
    assert await aliases(qdrant) == {"ai_box_entity_memory": name}
    assert list(qdrant.engine.created) == [name]
    created = qdrant.engine.created[name]
    assert created.vectors == {"dense": models.VectorParams(size=4, distance=models.Distance.COSINE)}
    assert created.sparse_vectors is not None
    sparse = created.sparse_vectors["sparse"]
    assert sparse.modifier is models.Modifier.IDF
    assert sparse.index is not None
    assert sparse.index.full_scan_threshold == scanned_points(Collection.MEMORIES)
    assert created.hnsw_config == models.HnswConfigDiff(m=0, payload_m=16)
    kinds = {field: schema["data_type"] for field, schema in qdrant.engine.indexes[name].items()}
    assert kinds == {
        "user_id": "keyword",
        "session_id": "keyword",
        "role": "keyword",
        "metadata": "keyword",
        "created_at_s": "float",
        "entity_value": "keyword",
        "entity_type": "keyword",
        "status": "keyword",
        "first_mentioned": "datetime",
        "last_mentioned": "datetime",
        "mention_count": "integer",
    }
    assert qdrant.engine.indexes[name]["user_id"]["params"] == {"type": "keyword", "is_tenant": True}


async def test_times_are_stored_as_the_server_indexes_them(qdrant: QdrantStandIn, make: SimpleNamespace) -> None:
    index = connected(qdrant)
    await index.upsert(ENTITIES, [make.point("a", payload={"first_mentioned": 1.5})], user_id="ann")
    ((record,), _) = await qdrant.engine.client.scroll("ai_box_entity_memory")
    assert (record.payload or {})["first_mentioned"] == "1970-01-01T00:00:01.500000+00:00"
    await index.close()


async def test_later_uses_ask_for_nothing_but_the_points(qdrant: QdrantStandIn) -> None:
    index = connected(qdrant)
    await index.count(MEMORIES, user_id="ann")
    qdrant.seen.clear()
    await index.count(MEMORIES, user_id="ann")
    assert qdrant.seen == ["POST /collections/ai_box_aam_memory__e5/points/count"]
    await index.close()


async def test_many_first_uses_at_once_make_everything_once(qdrant: QdrantStandIn) -> None:
    indexes = [connected(qdrant) for _ in range(4)]
    await asyncio.gather(*(index.count(MEMORIES, user_id="ann") for index in indexes for _ in range(5)))
    assert qdrant.seen.count("GET /collections/ai_box_aam_memory__e5") == len(indexes)
    assert list(qdrant.engine.created) == ["ai_box_aam_memory__e5"]
    assert await aliases(qdrant) == {"ai_box_aam_memory": "ai_box_aam_memory__e5"}
    for index in indexes:
        await index.close()


async def test_what_a_crashed_start_or_an_earlier_release_left_out_is_added(qdrant: QdrantStandIn) -> None:
    first = connected(qdrant)
    await first.count(MEMORIES, user_id="ann")
    await first.close()
    indexes = qdrant.engine.indexes["ai_box_aam_memory__e5"]
    for field in ("confidence", "metadata"):
        del indexes[field]
    qdrant.engine.drop_aliases()
    qdrant.seen.clear()
    second = connected(qdrant)
    await second.count(MEMORIES, user_id="ann")
    await second.close()
    assert indexes.keys() == indexed_fields(MEMORIES).keys()
    assert qdrant.seen.count("PUT /collections/ai_box_aam_memory__e5/index") == 2
    assert await aliases(qdrant) == {"ai_box_aam_memory": "ai_box_aam_memory__e5"}


async def test_vectors_of_another_model_or_length_are_refused(qdrant: QdrantStandIn) -> None:
    index = connected(qdrant)
    await index.count(MEMORIES, user_id="ann")
    await index.close()
    for other, cause in (
        (connected(qdrant, "mpnet"), "ai_box_aam_memory__e5 is live, but the model is mpnet"),
        (connected(qdrant, dimension=8), "holds vectors of length 4, not 8"),
    ):
        with pytest.raises(StoreUnavailable, match=cause):
            await other.count(MEMORIES, user_id="ann")
        await other.close()
    assert list(qdrant.engine.created) == ["ai_box_aam_memory__e5"]


async def test_a_collection_that_somebody_else_made_is_left_alone(qdrant: QdrantStandIn) -> None:
    config = models.VectorParams(size=4, distance=models.Distance.DOT)
    await qdrant.engine.client.create_collection("ai_box_aam_memory__e5", vectors_config=config)
    qdrant.engine.indexes["ai_box_aam_memory__e5"] = {}
    index = connected(qdrant)
    with pytest.raises(StoreUnavailable, match="was not made by Jiyi"):
        await index.count(MEMORIES, user_id="ann")
    await index.close()


async def test_the_alias_moves_to_another_model_and_back(qdrant: QdrantStandIn, make: SimpleNamespace) -> None:
    old, new = connected(qdrant, "e5"), connected(qdrant, "mpnet", dimension=8, live=False)
    await old.upsert(MEMORIES, [make.point("a")], user_id="ann")
    await new.upsert(MEMORIES, [make.point("a", dense=(1,) * 8), make.point("b", dense=(1,) * 8)], user_id="ann")
    assert await aliases(qdrant) == {"ai_box_aam_memory": "ai_box_aam_memory__e5"}
    await new.ping()
    await old.point_alias(MEMORIES, "mpnet")
    assert await aliases(qdrant) == {"ai_box_aam_memory": "ai_box_aam_memory__mpnet"}
    assert (await qdrant.engine.client.count("ai_box_aam_memory")).count == 2
    with pytest.raises(StoreUnavailable, match="ai_box_aam_memory__mpnet is live, but the model is e5"):
        await old.ping()
    await old.point_alias(MEMORIES, "e5")
    await old.ping()
    assert await old.count(MEMORIES, user_id="ann") == 1
    for index in (old, new):
        await index.close()


async def test_a_model_without_a_collection_cannot_be_made_live(qdrant: QdrantStandIn) -> None:
    index = connected(qdrant)
    with pytest.raises(InvalidField, match="no collection ai_box_aam_memory__mpnet"):
        await index.point_alias(MEMORIES, "mpnet")
    await index.close()


async def test_quantised_vectors_only_choose_candidates(qdrant: QdrantStandIn, make: SimpleNamespace) -> None:
    index = connected(qdrant, quantisation="int8")
    await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
    query = IndexQuery(MEMORIES, 3, dense=np.array([1, 0, 0, 0], dtype=np.float32))
    (hits,) = await index.search([query], user_id="ann")
    assert hits[0].score == pytest.approx(1)
    vectors = qdrant.engine.created["ai_box_aam_memory__e5"].vectors
    assert isinstance(vectors, dict)
    assert vectors["dense"].quantization_config == models.ScalarQuantization(
        scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    )
    assert qdrant.engine.rescored == [True]
    await index.close()
