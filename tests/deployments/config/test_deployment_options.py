"""Ray Serve's options of a deployment: given by name, merged with the graph's, checked before anything starts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from ray.serve import Application

from deployments.app import build_app
from deployments.config.deployment_options import DEPLOYMENTS
from deployments.config.serve_file import read_serve_file
from deployments.config.settings import AppArgs
from tests.deployments.builders.graph import bound_factory

ROOT = Path(__file__).parents[3]


def bound(tmp_path: Path, options: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    """The deployments of a graph by name."""
    args = AppArgs.model_validate({"home": tmp_path, "deployments": options or {}, **settings})
    app = build_app(args)
    parts: dict[str, Application] = bound_factory(app, "services").keywords["parts"]

    def deployments() -> Iterator[Any]:
        for application in (app, *parts.values()):
            yield application._bound_deployment

    return {deployment.name: deployment for deployment in deployments()}


def test_every_deployment_of_the_graph_can_be_given_options(tmp_path: Path) -> None:
    weights = {"models": {"reranker": "org/model", "answers": "on", "answers_apart": True}}
    assert bound(tmp_path, **weights).keys() == set(DEPLOYMENTS)


def test_what_is_given_replaces_what_the_graph_says_and_the_rest_stays(tmp_path: Path) -> None:
    options = {
        "num_replicas": 3,
        "max_ongoing_requests": 64,
        "health_check_period_s": 7,
        "ray_actor_options": {"num_gpus": 0.5, "resources": {"fast_node": 1}},
    }
    resolver = bound(tmp_path, {"Resolver": options})["Resolver"]
    assert (resolver.num_replicas, resolver.max_ongoing_requests) == (3, 64)
    assert resolver._deployment_config.health_check_period_s == 7
    assert resolver.ray_actor_options == {"num_cpus": 0, "num_gpus": 0.5, "resources": {"fast_node": 1}}
    assert resolver._deployment_config.graceful_shutdown_timeout_s == 20


def test_bounds_of_scaling_keep_the_policy_of_the_embedder(tmp_path: Path) -> None:
    before = bound(tmp_path)["Embedder"]._deployment_config.autoscaling_config
    options = {"autoscaling_config": {"min_replicas": 2, "max_replicas": 9}}
    after = bound(tmp_path, {"Embedder": options})["Embedder"]._deployment_config.autoscaling_config
    assert (after.min_replicas, after.max_replicas) == (2, 9)
    assert after.policy.policy_kwargs == before.policy.policy_kwargs
    assert after.look_back_period_s == before.look_back_period_s


def test_a_fixed_number_ends_scaling_and_scaling_a_fixed_number(tmp_path: Path) -> None:
    scaling = {"autoscaling_config": {"min_replicas": 1, "max_replicas": 4}}
    graph = bound(tmp_path, {"Embedder": {"num_replicas": 2}, "Extractor": scaling}, models={"replicas": 2})
    assert graph["Embedder"]._deployment_config.autoscaling_config is None
    assert graph["Embedder"].num_replicas == 2
    assert graph["Extractor"]._deployment_config.autoscaling_config.max_replicas == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"Embeder": {}}, "deployments.Embeder: there is no such name; allowed: Answers, Embedder"),
        ({"Embedder": {"num_replica": 2}}, "deployments.Embedder.num_replica: there is no such name; allowed: "),
        ({"Resolver": {"ray_actor_options": {"num_cpu": 1}}}, "deployments.Resolver.ray_actor_options.num_cpu: "),
        ({"Resolver": {"autoscaling_config": {"max": 1}}}, "deployments.Resolver.autoscaling_config.max: there is no"),
        ({"Resolver": {"max_ongoing_requests": 0}}, "greater than 0"),
        ({"Resolver": {"num_replicas": 2, "autoscaling_config": {"max_replicas": 3}}}, "not allowed"),
        ({"Learner": {"num_replicas": 2}}, "deployments.Learner.num_replicas: 1 is allowed"),
        ({"VectorShard": {"autoscaling_config": {"max_replicas": 2}}}, "deployments.VectorShard.num_replicas: 1 is"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_refused_before_anything_starts(tmp_path: Path, wrong: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message.replace(".", r"\.")):
        AppArgs.model_validate({"home": tmp_path, "deployments": wrong})


def test_the_example_in_serve_config_yaml_is_valid(tmp_path: Path) -> None:
    text = (ROOT / "serve_config.yaml").read_text(encoding="utf-8")
    head, marker, example = text.partition("      # deployments:\n")
    assert marker
    file = tmp_path / "serve_config.yaml"
    file.write_text(head + (marker + example).replace("      # ", "      "), encoding="utf-8")
    serve_file = read_serve_file(file)
    assert (serve_file.host, serve_file.port) == ("127.0.0.1", 8000)
    graph = bound(tmp_path, **(serve_file.args | {"home": tmp_path}))
    assert graph["Retriever"].num_replicas == 2
    assert graph["Embedder"].ray_actor_options["resources"] == {"fast_node": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("applications: [", "no config file of Ray Serve"),
        ("applications: [{import_path: other:app}]", "there must be one application"),
        (
            "applications: [{import_path: 'deployments.app:build_app', deployments: [{name: Embedder}]}]",
            "write the options of deployments under args",
        ),
    ],
    ids=["no YAML", "another application", "options that only serve run follows"],
)
def test_a_file_that_the_command_line_cannot_follow_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_serve_file(file)
