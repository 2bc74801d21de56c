"""For all tests: none asserts a time, Hypothesis's included, so that a busy machine fails nothing."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def e5_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default model, prepared once for all processes of a run; JIYI_TEST_CACHE keeps it between runs."""
    if kept := os.environ.get("JIYI_TEST_CACHE"):
        cache = Path(kept)
    elif "PYTEST_XDIST_WORKER" in os.environ:
        cache = tmp_path_factory.getbasetemp().parent / "models"
    else:
        cache = tmp_path_factory.mktemp("models")
    return prepare_model(DEFAULT_MODEL, cache)
