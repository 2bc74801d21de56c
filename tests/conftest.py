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
    """The default model, prepared once; JIYI_TEST_CACHE keeps it between runs."""
    kept = os.environ.get("JIYI_TEST_CACHE")
    return prepare_model(DEFAULT_MODEL, Path(kept) if kept else tmp_path_factory.mktemp("models"))
