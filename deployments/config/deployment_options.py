"""Ray Serve's own options of each deployment, as the setting `deployments` gives them."""

from collections.abc import Collection, Mapping
from typing import Any

DEPLOYMENTS = (
    "Ingress",
    "Embedder",
    "Extractor",
    "Resolver",
    "Reranker",
    "Answers",
    "Retriever",
    "Learner",
    "VectorShard",
    "SessionServer",
)
_ONE_REPLICA = frozenset({"Learner", "VectorShard", "SessionServer"})
"""These own files, a server or the background work of everybody."""
_NESTED = ("ray_actor_options", "autoscaling_config")


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Checks the options of one deployment by Serve's own schema, which passes over names that it does not know.

    Raises:
        ValueError: The deployment or an option is unknown, or a value is not allowed.
    """
    from ray.serve.config import AutoscalingConfig
    from ray.serve.schema import DeploymentSchema, RayActorOptionsSchema

    _check_names("deployments", [name], DEPLOYMENTS)
    _check_names(f"deployments.{name}", options, DeploymentSchema.model_fields.keys() - {"name"})
    schemas: dict[str, Any] = {"ray_actor_options": RayActorOptionsSchema, "autoscaling_config": AutoscalingConfig}
    for option, schema in schemas.items():
        _check_names(f"deployments.{name}.{option}", options.get(option) or {}, schema.model_fields.keys())
    if name in _ONE_REPLICA and (options.get("autoscaling_config") or options.get("num_replicas", 1) != 1):
        raise ValueError(f"deployments.{name}.num_replicas: 1 is allowed, and no autoscaling_config")
    DeploymentSchema.model_validate({"name": name, **options})


def merge_options(own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a deployment: its own, with what is given in their place; nested ones are merged key by key.

    A number of replicas ends autoscaling, and autoscaling a number of replicas.
    """
    merged = {**own, **given}
    for name in _NESTED:
        if given.get(name) and own.get(name):
            merged[name] = {**own[name], **given[name]}
    if given.get("autoscaling_config") and "num_replicas" not in given:
        merged.pop("num_replicas", None)
    elif isinstance(given.get("num_replicas"), int) and "autoscaling_config" not in given:
        merged.pop("autoscaling_config", None)
    return merged


def _check_names(place: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{place}.{name}: there is no such name; allowed: {', '.join(sorted(known))}")
