"""The scenario files, as the open loop and locust use them."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest
from pydantic import BaseModel, ValidationError

from benchmarks.load.scenarios import NAMES, Planner, Scenario, load_scenario
from deployments.http.doors.openai import embeddings
from deployments.http.identity.current import CURRENT_IDENTITY
from deployments.http.schemas.memory import chat as schemas
from memory.identity.caller import ANONYMOUS, Identity

_BODIES: dict[str, type[BaseModel]] = {
    "/chat": schemas.ChatBody,
    "/search": schemas.SearchBody,
    "/resolve": schemas.ResolveBody,
    "/memories": schemas.AddBody,
    "/v1/embeddings": embeddings.EmbeddingsBody,
}


@pytest.fixture
def anonymous() -> Iterator[None]:
    token = CURRENT_IDENTITY.set(Identity(ANONYMOUS))
    yield
    CURRENT_IDENTITY.reset(token)


def test_there_is_one_for_each_use() -> None:
    assert NAMES == ("chat", "ingest", "mixed", "search")


@pytest.mark.usefixtures("anonymous")
@pytest.mark.parametrize("name", NAMES)
def test_every_request_of_a_scenario_is_one_that_the_service_takes(name: str) -> None:
    CURRENT_IDENTITY.set(Identity(ANONYMOUS))
    planner = Planner(load_scenario(name), prefix="p", seed=1)
    for request in [*planner.preparation(), *planner.plan(300)]:
        if request.body is not None:
            _BODIES[request.path].model_validate_json(request.body)
        assert "$" not in request.path
        assert b'"$' not in (request.body or b"")


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_draws_the_same_requests(name: str) -> None:
    scenario = load_scenario(name)
    assert Planner(scenario, prefix="p", seed=7).plan(50) == Planner(scenario, prefix="p", seed=7).plan(50)


def test_requests_are_drawn_by_their_weights_and_spread_over_the_users() -> None:
    scenario = load_scenario("mixed")
    drawn = Planner(scenario, prefix="p", seed=2).plan(4000)
    counts = Counter(request.name for request in drawn)
    total = sum(request.weight for request in scenario.requests)
    chat = sum(request.weight for request in scenario.requests if request.name == "chat")
    assert counts["chat"] / len(drawn) == pytest.approx(chat / total, abs=0.03)
    users = {json.loads(request.body)["user_id"] for request in drawn if request.name == "search" and request.body}
    assert len(users) == scenario.users


def test_two_texts_of_one_request_differ() -> None:
    plan = Planner(load_scenario("mixed"), prefix="p", seed=3).plan(500)
    bulk = [request for request in plan if request.name == "embeddings"]
    texts = [json.loads(request.body)["input"] for request in bulk if request.body]
    assert any(len(set(inputs)) > 1 for inputs in texts)


def test_a_scenario_with_a_mistyped_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="wieght"):
        Scenario.model_validate(
            {
                "about": "",
                "users": 1,
                "before": 0,
                "think_s": 1,
                "requests": [{"name": "a", "wieght": 1, "method": "GET", "path": "/"}],
            }
        )
