"""A reranker at an API endpoint: its request, its reply, and what counts as no answer (004 §5.2)."""

import json

import httpx
import pytest
from pydantic import SecretStr, ValidationError

from deployments.config.knowledge_settings import RerankerApiArgs
from deployments.remote.knowledge import ApiReranker
from memory.ports.models.language import MAX_RERANKED
from memory.values.errors import InvalidField, ModelUnavailable

SETTINGS = RerankerApiArgs(url="https://api.example.org/v2/rerank", api_key=SecretStr("secret"), model="m")


def replying(status: int = 200, **body: object) -> tuple[ApiReranker, list[httpx.Request]]:
    asked: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(status, json=body)

    return ApiReranker(SETTINGS, transport=httpx.MockTransport(reply)), asked


async def test_scores_come_back_in_the_order_of_the_passages() -> None:
    scored = [{"index": 1, "relevance_score": 0.9, "document": None}, {"index": 0, "relevance_score": 0.2}]
    reranker, asked = replying(results=scored, id="x")
    assert await reranker.rerank("保固", ["a", "b"]) == [0.2, 0.9]
    assert json.loads(asked[0].content) == {"query": "保固", "documents": ["a", "b"], "top_n": 2, "model": "m"}
    assert asked[0].headers["authorization"] == "Bearer secret"
    with pytest.raises(InvalidField):
        await reranker.rerank("q", ["a"] * (MAX_RERANKED + 1))
    await reranker.close()


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (503, {}, "status 503"),
        (401, {"message": "secret"}, "status 401"),
        (200, {"results": [{"index": 0}]}, "no valid reply"),
        (200, {"results": [{"index": 0, "relevance_score": 1}]}, "did not score every passage"),
    ],
)
async def test_no_answer_names_the_problem_and_not_what_was_sent(
    status: int, body: dict[str, object], problem: str
) -> None:
    reranker, _ = replying(status, **body)
    with pytest.raises(ModelUnavailable, match=problem) as failed:
        await reranker.rerank("保固", ["a", "b"])
    assert "secret" not in failed.value.message


@pytest.mark.parametrize("url", ["ftp://example.org", "api.example.org", "https://user:pass@example.org/rerank"])
def test_the_url_must_be_one_without_credentials(url: str) -> None:
    with pytest.raises(ValidationError):
        RerankerApiArgs(url=url)
