"""Models, embeddings, reranking and the search of vector stores through OpenAI's client."""

import base64
from typing import Any

import numpy as np
import openai
import pytest
from openai.types import CreateEmbeddingResponse, Model, VectorStoreSearchResponse

from deployments.http.support.services import Services
from memory.knowledge.sources import NewDocument

from .conftest import Door


def test_models_are_listed_and_found(door: Door) -> None:
    client = door.client(None)
    names = [model.id for model in client.models.list()]
    assert names == ["jiyi", "fake", "org/fake"]
    for name in names:
        raw = client.models.with_raw_response.retrieve(name)
        assert Model.model_validate_json(raw.content).id == name
    assert client.get("/models/org%2Ffake", cast_to=Model).id == "org/fake"
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("gpt-none")
    assert caught.value.code == "model_not_found"


def test_embeddings_are_the_same_in_base64_as_the_client_asks_for_and_in_numbers(door: Door) -> None:
    client = door.client(None)
    packed = client.embeddings.create(model="fake", input=["茶", "tea"])
    plain = client.embeddings.create(model="fake", input=["茶", "tea"], encoding_format="float")
    assert np.allclose([item.embedding for item in packed.data], [item.embedding for item in plain.data])
    raw = client.embeddings.with_raw_response.create(model="fake", input="茶", encoding_format="base64")
    assert len(base64.b64decode(raw.http_response.json()["data"][0]["embedding"])) == 4 * len(plain.data[0].embedding)
    CreateEmbeddingResponse.model_validate(plain.model_dump())


def test_rerank_orders_documents(door: Door) -> None:
    client = door.client(None)

    def rerank(**body: Any) -> Any:
        return client.post("/rerank", body=body, cast_to=object)

    documents = ["it rains today", "the key is in the drawer", {"text": "where is the key"}]
    reply = rerank(query="where is the key", documents=documents, top_n=2, return_documents=True)
    assert [result["index"] for result in reply["results"]] == [2, 1]
    assert reply["results"][0]["document"] == {"text": "where is the key"}
    assert reply["results"][0]["relevance_score"] > reply["results"][1]["relevance_score"]
    assert reply["model"] == "fake"
    assert reply["usage"]["total_tokens"] > 0
    assert rerank(query="a", documents=["b"], model="org/fake")["results"] == [
        {
            "index": 0,
            "relevance_score": pytest.approx(rerank(query="a", documents=["b"])["results"][0]["relevance_score"]),
        }
    ]
    with pytest.raises(openai.NotFoundError):
        rerank(query="a", documents=["b"], model="rerank-none")


def test_the_vector_store_memory_is_the_memory_of_the_person(door: Door, person: str) -> None:
    client = door.client(person)
    told = {"text": "The spare key is in the blue drawer.", "user_id": person}
    for room in ("kitchen", "cellar"):
        client.post(f"{door.url}/memories", body=told | {"metadata": {"room": room}}, cast_to=object)
    found = client.vector_stores.search("memory", query="Where is the spare key?", max_num_results=5)
    assert [item.content[0].text for item in found] == ["The spare key is in the blue drawer."] * 2
    [one] = client.vector_stores.search(
        "memory", query="spare key", filters={"type": "eq", "key": "room", "value": "cellar"}
    ).data
    assert one.attributes is not None
    assert one.attributes["room"] == "cellar"
    VectorStoreSearchResponse.model_validate(one.model_dump())
    both: Any = {"type": "and", "filters": [{"type": "in", "key": "room", "value": ["attic"]}]}
    assert client.vector_stores.search("memory", query="spare key", filters=both).data == []
    with pytest.raises(openai.BadRequestError) as caught:
        door.client(None).vector_stores.search("memory", query="spare key")
    assert caught.value.param == "X-Jiyi-User"
    with pytest.raises(openai.BadRequestError):
        client.vector_stores.search("memory", query="key", filters={"type": "gt", "key": "room", "value": 3})


def test_other_vector_stores_are_corpora(door: Door) -> None:
    async def ingest(services: Services) -> str:
        corpus = await services.knowledge.corpora.create("manuals", app="default")
        document = NewDocument(b"The battery is under warranty for two years.", media_type="text/plain")
        await services.knowledge.ingest(corpus.corpus_id, [document], app="default", wait=True)
        return str(corpus.corpus_id)

    corpus_id = door.run(ingest)
    [found] = door.client(None).vector_stores.search(corpus_id, query="battery warranty").data
    assert "two years" in found.content[0].text
    with pytest.raises(openai.NotFoundError) as caught:
        door.client(None).vector_stores.search("none", query="battery")
    assert caught.value.code == "corpus_not_found"
