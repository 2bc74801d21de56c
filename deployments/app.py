"""The graph: the only place that binds deployments (DESIGN §2). `build_app` is what `serve_config.yaml` imports."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ray import serve
from ray.serve import Application

from .builders.ingress import open_services
from .builders.learner import make_learner
from .builders.models.embedder import cluster_machines, make_encoders, place_embedder
from .builders.models.language import (
    check_language_model,
    is_on,
    make_answers,
    make_extractor,
    make_reranker,
    make_resolver,
)
from .builders.models.retrieval import make_retriever
from .builders.models.scaling import TokenBacklogPolicy
from .builders.storage.encryption import check_encryption
from .builders.storage.spaces import vector_model, with_live_model
from .builders.storage.stores import local_redis, make_session_server, make_shards
from .config.deployment_options import merge_options
from .config.private_files import make_private_home
from .config.settings import AppArgs
from .serve.embedder import Embedder
from .serve.ingress import Ingress
from .serve.learner import LearnerDeployment
from .serve.local_stores import SessionServer, VectorShard
from .serve.process import open_in_replica
from .serve.turn import (
    AnswersDeployment,
    ExtractorDeployment,
    RerankerDeployment,
    ResolverDeployment,
    RetrieverDeployment,
)

APP_NAME = "jiyi"
_DEFAULTS: dict[str, Any] = {
    # Most deployments wait for others: they need no core of their own, and their queues are short.
    "ray_actor_options": {"num_cpus": 0},
    "max_ongoing_requests": 256,
    "health_check_period_s": 2,
    "health_check_timeout_s": 20,
    "graceful_shutdown_timeout_s": 20,
    "graceful_shutdown_wait_loop_s": 0.2,
}
_SURGE: dict[str, Any] = {"max_surge_percent": 100}
"""For deployments that own no store: an update starts the new replica before it ends the old one."""
_INGRESS_DRAIN_S = 45
"""Seconds that a bulk request may still take; less than the supervisor waits when the service ends."""
_SCALING = {"metrics_interval_s": 1, "look_back_period_s": 5, "upscale_delay_s": 2}


def build_app(args: AppArgs) -> Application:
    """Binds all deployments into one application.

    Raises:
        ImportError: The settings need an extra that is not installed.
        ModelUnavailable: The model is unknown.
        StoreUnavailable: The stores of the home are not encrypted with the key of the settings.
        ValueError: A secret was given among the arguments.
    """
    args.to_send()
    make_private_home(args.data_home)
    check_encryption(args)
    check_language_model(args)
    args = with_live_model(args)
    shared: dict[str, Any] = {"model": vector_model(args, args.model)}
    embedder = _embedder(args)
    parts: dict[str, Any] = {}
    indexed = shared
    if args.stores == "embedded":
        parts["vectors"] = _bind(args, VectorShard, generations=partial(make_shards, args, **shared))
        indexed = shared | {"vectors": parts["vectors"]}
    # The reader's own queue decides how long a message may wait, so Serve's must not be shorter.
    reading = _computing(args, "reader", "answers") | {"max_ongoing_requests": 4096}
    extractor = _bind(args, ExtractorDeployment, reading, parts=partial(make_extractor, args))
    resolver = _bind(args, ResolverDeployment, _SURGE, resolver=partial(make_resolver, args))
    parts |= {"embedder": embedder, "extractor": extractor, "resolver": resolver}
    reranking = {}
    if is_on(args, "reranker"):
        options = _computing(args, "reranker")
        parts["reranker"] = _bind(args, RerankerDeployment, options, parts=partial(make_reranker, args))
        reranking = {"reranker": parts["reranker"]}
    if is_on(args, "answers") and args.models.answers_apart:
        options = _computing(args, "answers")
        parts["answers"] = _bind(args, AnswersDeployment, options, parts=partial(make_answers, args))
    parts["retriever"] = _bind(
        args,
        RetrieverDeployment,
        _SURGE,
        retriever=partial(make_retriever, args, embedder=embedder, **indexed, **reranking),
    )
    parts["learner"] = _bind(
        args,
        LearnerDeployment,
        parts=partial(
            make_learner, args, embedder=embedder, extractor=extractor, answers=parts.get("answers"), **indexed
        ),
    )
    if local_redis(args) is not None:
        parts["session_server"] = _bind(args, SessionServer, server=partial(make_session_server, args))
    app: Application = _bind(
        args,
        serve.ingress()(Ingress),
        _SURGE
        | {
            "num_replicas": args.ingress_replicas,
            "max_ongoing_requests": 1024,
            "graceful_shutdown_timeout_s": _INGRESS_DRAIN_S,
        },
        services=partial(open_services, args, parts=parts, **shared),
        limits=args.limits,
        http=args.http,
    )
    return app


def _bind(args: AppArgs, kind: Callable[..., Any], options: dict[str, Any] | None = None, **engine: Any) -> Any:
    """Binds one deployment. Its options are the defaults, then `options`, then the setting `deployments`.

    Of `engine`, what can be called is made in the replica; settings are given as they are.

    Returns:
        An `Application`; where it is given to another deployment, Serve puts a handle in its place.
    """
    name = kind.__name__.removesuffix("Deployment")
    merged = merge_options(_DEFAULTS | (options or {}), args.deployments.get(name, {}))
    decorate: Any = serve.deployment(name=name, **merged)
    process = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return decorate(kind).bind(
        **{
            keyword: partial(open_in_replica, args, process, make) if callable(make) else make
            for keyword, make in engine.items()
        }
    )


def _computing(args: AppArgs, *models: str) -> dict[str, Any]:
    """Options of a deployment that runs trained models, where one of them is on.

    It asks for no core: its models compute for a fraction of a turn, while the Embedder leaves its cores idle.
    """
    if not any(is_on(args, model) for model in models):
        return _SURGE
    resources = {"num_cpus": 0, "num_gpus": args.models.gpus if args.models.device == "cuda" else 0}
    # A GPU may have no room for one more share.
    surge = {} if resources["num_gpus"] else _SURGE
    return surge | {"num_replicas": args.models.replicas, "ray_actor_options": resources}


def _embedder(args: AppArgs) -> Any:
    """The Embedder has cores of its own and scales by itself, on tokens waiting."""
    placement = place_embedder(args.embedder, cluster_machines())
    settings = args.embedder.model_copy(update={"threads": placement.threads})
    policy = {
        "policy_function": f"{TokenBacklogPolicy.__module__}:{TokenBacklogPolicy.__name__}",
        "policy_kwargs": {"target_wait_s": settings.target_wait_s, "tokens_per_s": settings.tokens_per_s},
    }
    scaling = _SCALING | {
        "min_replicas": settings.min_replicas,
        "max_replicas": placement.max_replicas,
        "downscale_delay_s": settings.downscale_delay_s,
        "policy": policy,
    }
    return _bind(
        args,
        Embedder,
        {
            "ray_actor_options": {"num_cpus": placement.threads, "num_gpus": placement.gpus},
            "max_ongoing_requests": 4096,
            "autoscaling_config": scaling,
            "max_surge_percent": 1 if placement.surge else 0,
        },
        encoders=partial(make_encoders, args.model_copy(update={"embedder": settings})),
    )
