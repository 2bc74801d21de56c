"""What the Embedder asks of the machines, and how many replicas they hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from deployments.builders.models.embedder import cluster_machines, place_embedder
from deployments.config.model_settings import EmbedderArgs


@pytest.mark.parametrize(
    ("cores", "threads", "replicas"), [(1, 1, 1), (2, 2, 1), (4, 4, 1), (16, 8, 2), (64, 8, 8), (0.5, 1, 1)]
)
def test_by_default_replicas_fill_the_machine_and_no_more(cores: float, threads: int, replicas: int) -> None:
    placement = place_embedder(EmbedderArgs(), [{"CPU": cores}])
    assert (placement.threads, placement.max_replicas, placement.gpus) == (threads, replicas, 0)


def test_a_second_replica_fits_a_machine_of_two_cores_with_one_thread_each() -> None:
    assert place_embedder(EmbedderArgs(threads=1), [{"CPU": 2}]).max_replicas == 2


def test_all_machines_of_a_cluster_count_and_none_is_split() -> None:
    assert place_embedder(EmbedderArgs(threads=4), [{"CPU": 6}, {"CPU": 6}, {"CPU": 3}]).max_replicas == 2


def test_what_is_asked_for_stands_and_is_warned_about_where_it_does_not_fit() -> None:
    with capture_logs() as logs:
        placement = place_embedder(EmbedderArgs(threads=2, max_replicas=4), [{"CPU": 2}])
    assert placement.max_replicas == 4
    [line] = logs
    assert (line["event"], line["max_replicas"], line["fitting"]) == ("embedder_replicas_do_not_fit", 4, 1)


def test_what_fits_is_not_warned_about() -> None:
    with capture_logs() as logs:
        place_embedder(EmbedderArgs(threads=2, max_replicas=4), [{"CPU": 8}])
    assert logs == []


@pytest.mark.parametrize(("max_replicas", "surge"), [(None, False), (4, False), (3, True)])
def test_an_update_starts_the_new_first_only_where_there_is_always_room(max_replicas: int, surge: bool) -> None:
    assert place_embedder(EmbedderArgs(threads=2, max_replicas=max_replicas), [{"CPU": 8}]).surge is surge


def test_a_gpu_is_taken_where_there_is_one_and_shared_where_that_is_asked_for() -> None:
    machine = {"CPU": 16, "GPU": 1}
    assert place_embedder(EmbedderArgs(), [machine]).gpus == 1
    assert place_embedder(EmbedderArgs(device="cpu"), [machine]).gpus == 0
    shared = place_embedder(EmbedderArgs(device="cuda", gpus=0.25, threads=2), [machine])
    assert (shared.gpus, shared.max_replicas) == (0.25, 4)


@given(
    cores=st.integers(1, 256),
    threads=st.none() | st.integers(1, 64),
    bounds=st.tuples(st.integers(1, 9), st.none() | st.integers(9, 99)),
)
def test_the_bounds_are_always_in_order(cores: int, threads: int | None, bounds: tuple[int, int | None]) -> None:
    settings = EmbedderArgs(threads=threads, min_replicas=bounds[0], max_replicas=bounds[1])
    placement = place_embedder(settings, [{"CPU": cores}])
    assert placement.threads >= 1
    assert placement.max_replicas >= settings.min_replicas


def test_without_a_cluster_this_machine_counts() -> None:
    [machine] = cluster_machines()
    assert machine["CPU"] >= 1
