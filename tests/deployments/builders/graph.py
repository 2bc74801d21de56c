"""Looks into an application that `build_app` has bound and nobody has started."""

from functools import partial
from typing import Any

from ray.serve import Application


def bound_factory(app: Application, keyword: str) -> partial[Any]:
    """What a deployment makes its engine with, inside the wrapper that configures the logs of a replica."""
    bound: Any = app._bound_deployment
    factory: partial[Any] = bound.init_kwargs[keyword].args[-1]
    return factory
