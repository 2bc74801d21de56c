"""A pass of bulk embedding on real Ray leaves no actor behind."""

import logging
import time
from collections.abc import Iterator

import pytest

from deployments.builders.models.bulk_embedding import end_actors_left_behind

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
"""Ray Data sets its own deprecated defaults."""


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    import ray

    ray.init(num_cpus=1, include_dashboard=False, logging_level=logging.ERROR, namespace="tests")
    yield
    ray.shutdown()


def actors() -> set[str]:
    """Names of the classes of actors that are not dead."""
    import ray._private.state

    known = ray._private.state.actors().values()
    return {actor["ActorClassName"] for actor in known if actor["State"] != "DEAD"}


def embed() -> int:
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False

    class Worker:
        def __call__(self, batch: dict[str, object]) -> dict[str, object]:
            return batch

    pool = ray.data.ActorPoolStrategy(size=1)
    texts = ray.data.from_items([{"text": "a"}, {"text": "b"}])
    vectors = texts.map_batches(Worker, batch_size=None, compute=pool, num_cpus=0)
    return sum(len(batch["text"]) for batch in vectors.iter_batches(batch_size=None, batch_format="numpy"))


def until(expected: bool) -> None:
    """Waits until there are actors, or none."""
    end = time.monotonic() + 30
    while bool(actors()) is not expected and time.monotonic() < end:
        time.sleep(0.2)
    assert bool(actors()) is expected, actors()


def test_what_ray_data_leaves_behind_is_ended_and_the_next_pass_makes_it_anew() -> None:
    assert actors() == set()
    for _ in range(2):
        assert embed() == 2
        assert {"ActorLocationTracker", "_StatsActor", "_AutoscalingCoordinatorActor"} <= actors()
        end_actors_left_behind()
        until(expected=False)
    end_actors_left_behind()  # nothing is there: no harm
