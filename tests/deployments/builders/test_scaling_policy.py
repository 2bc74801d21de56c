"""The scaling policy in Ray Serve's own state machine, on a simulated clock: real contexts, aggregation and delays."""

import math
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ray.serve._private import autoscaling_state
from ray.serve._private.autoscaling_state import DeploymentAutoscalingState
from ray.serve._private.common import DeploymentID, ReplicaID, ReplicaMetricReport, TimeStampedValue
from ray.serve._private.deployment_info import DeploymentInfo

from deployments.app import APP_NAME, build_app
from deployments.builders.models.scaling import TokenBacklogPolicy
from deployments.config.model_settings import EmbedderArgs
from deployments.config.settings import AppArgs
from tests.deployments.builders.graph import bound_factory

SPEED, TARGET_WAIT_S, DOWNSCALE_DELAY_S = 2000.0, 2.0, 60.0
START = 1_000_000.0


class Simulation:
    """The Embedder's autoscaling in the controller, with replicas that report each second and start when told to.

    Args:
        config: The deployment's own options, as `build_app` made them.
        starts_in_s: How long a new replica takes.
    """

    def __init__(
        self, config: Any, monkeypatch: pytest.MonkeyPatch, *, replicas: int = 1, starts_in_s: float = 8
    ) -> None:
        self.now = START
        self._clock = SimpleNamespace(time=lambda: self.now, monotonic=lambda: self.now)
        monkeypatch.setattr(autoscaling_state, "time", self._clock)
        monkeypatch.setattr("ray.serve.autoscaling_policy.time", self._clock)
        self._deployment = DeploymentID(name="Embedder", app_name=APP_NAME)
        self._state = DeploymentAutoscalingState(self._deployment)
        replica_config: Any = SimpleNamespace()
        info: Any = DeploymentInfo(config, replica_config, 0, "job")
        self.target = self._state.register(info, replicas)
        self.ready_at = [START] * replicas
        self._starts_in_s = starts_in_s
        self._series: dict[int, dict[str, list[TimeStampedValue]]] = defaultdict(lambda: defaultdict(list))
        self._busy_s: dict[int, float] = defaultdict(float)
        self.backlog = 0.0
        self.silent: set[int] = set()
        self.targets: list[tuple[float, int]] = []

    def run(self, seconds: float, arriving_per_s: float = 0.0, capacity_per_s: float = SPEED) -> None:
        """Lets tokens arrive and replicas work them off, in steps of half a second (the control loop's own)."""
        step = 0.5
        for _ in range(int(seconds / step)):
            self.now += step
            running = [number for number, ready in enumerate(self.ready_at) if ready <= self.now]
            self.backlog += arriving_per_s * step
            finished = min(self.backlog, len(running) * capacity_per_s * step)
            self.backlog -= finished
            for number in running:
                self._busy_s[number] += finished / len(running) / capacity_per_s
                if (self.now - START) % 1 == 0 and number not in self.silent:
                    self._report(number, self.backlog / len(running), capacity_per_s)
            self._state.update_running_replica_ids([self._id(number) for number in running])
            replicas = self._state.get_decision_num_replicas(self.target)
            if replicas != self.target:
                self.targets.append((self.now - START, replicas))
            self.target = replicas
            self.ready_at = (self.ready_at + [self.now + self._starts_in_s] * replicas)[:replicas]

    def forget_reports(self) -> None:
        """What the loss of the controller does."""
        self._state._replica_metrics.clear()

    def _report(self, number: int, waiting: float, speed: float) -> None:
        point = {"waiting_tokens": waiting, "tokens_per_s": speed, "busy_s": self._busy_s[number]}
        for name, value in point.items():
            series = self._series[number][name]
            series.append(TimeStampedValue(self.now, value))
            del series[:-5]  # the look-back period
        metrics = {name: list(series) for name, series in self._series[number].items()}
        report = ReplicaMetricReport(self._id(number), metrics, self.now)
        self._state.record_request_metrics_for_replica(report)

    def _id(self, number: int) -> ReplicaID:
        return ReplicaID(unique_id=f"r{number}", deployment_id=self._deployment)


def options(home: Path, **settings: Any) -> Any:
    """The Embedder's options as the graph has them."""
    args = AppArgs(home=home, embedder=EmbedderArgs(threads=1, **{"max_replicas": 10, **settings}))
    app: Any = build_app(args)
    parts = bound_factory(app, "services").keywords["parts"]
    return parts["embedder"]._bound_deployment._deployment_config


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return options(tmp_path_factory.mktemp("home"))


@pytest.fixture
def simulate(config: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda **settings: Simulation(config, monkeypatch, **settings)


@pytest.mark.parametrize("tokens", [4_500, 10_000, 100_000])
def test_replicas_are_asked_for_within_ten_seconds_of_a_flood(simulate: Any, tokens: int) -> None:
    embedder = simulate()
    embedder.run(30)
    embedder.backlog = tokens + 10 * SPEED  # so much is still there after ten seconds
    embedder.run(10)
    [(at_s, target), *_] = embedder.targets
    assert at_s <= 40
    assert target >= 2


def test_a_short_burst_adds_no_replica(simulate: Any) -> None:
    embedder = simulate()
    embedder.backlog = 5_000
    embedder.run(60)
    assert embedder.targets == []


def test_a_lasting_load_of_three_replicas_is_held_by_about_three_without_flapping(simulate: Any) -> None:
    embedder = simulate()
    embedder.run(600, arriving_per_s=2.5 * SPEED)
    settled = [target for at_s, target in embedder.targets if at_s > 200]
    assert settled == []
    assert 3 <= embedder.target <= 4
    assert embedder.backlog < SPEED * TARGET_WAIT_S * embedder.target


def test_replicas_are_given_up_one_delay_after_the_load_ends(simulate: Any) -> None:
    embedder = simulate()
    embedder.run(300, arriving_per_s=2.5 * SPEED)
    ended_s = embedder.now - START
    embedder.run(DOWNSCALE_DELAY_S - 1)
    assert embedder.target >= 3
    embedder.run(12)
    assert embedder.target == 1
    assert embedder.targets[-1][0] >= ended_s + DOWNSCALE_DELAY_S


def test_replicas_that_have_not_reported_yet_count_as_without_backlog(simulate: Any) -> None:
    embedder = simulate(replicas=2)
    embedder.silent = {1}
    embedder.backlog = 30_000
    embedder.run(8)
    assert 2 <= embedder.target <= 4  # half of what waits is known of


def test_the_target_stands_while_nothing_is_known(simulate: Any) -> None:
    embedder = simulate(replicas=3)
    embedder.silent = {0, 1, 2}
    embedder.run(5 * DOWNSCALE_DELAY_S)
    assert embedder.target == 3


def test_the_target_stands_while_no_replica_runs(simulate: Any) -> None:
    embedder = simulate(replicas=3)
    embedder.run(5, arriving_per_s=2.5 * SPEED)
    embedder.ready_at = [math.inf] * 3
    embedder.run(30)
    assert embedder.target == 3


def test_the_target_stands_when_the_controller_is_lost(simulate: Any) -> None:
    embedder = simulate(replicas=3)
    embedder.run(60, arriving_per_s=2.5 * SPEED)
    embedder.forget_reports()
    embedder.run(2, arriving_per_s=2.5 * SPEED)
    assert embedder.target == 3


def test_a_replica_faster_than_expected_takes_more_before_another_is_added(simulate: Any) -> None:
    embedder = simulate()
    embedder.run(60, arriving_per_s=50_000, capacity_per_s=60_000)
    assert embedder.targets == []


@pytest.mark.parametrize(
    ("waiting", "speed", "replicas"),
    [(0, 2000, 1), (4000, 2000, 1), (4001, 2000, 2), (40_000, 2000, 10), (40_000, 0, 10), (40_000, 8000, 3)],
)
def test_the_embedder_scales_on_tokens_waiting(waiting: float, speed: float, replicas: int) -> None:
    assert decide({"r1": waiting}, {"r1": speed}) == replicas


@given(
    waiting=st.dictionaries(st.integers(), st.floats(0, 1e7), max_size=8),
    target=st.integers(0, 20),
    busy=st.floats(0, 1),
)
def test_the_decision_is_always_a_number_of_replicas(waiting: dict[int, float], target: int, busy: float) -> None:
    decision = decide(waiting, dict.fromkeys(waiting, 1.0), target=target, busy=busy)
    assert decision >= 1
    if not waiting:
        assert decision == max(1, target)


def decide(waiting: Any, speed: Any, *, target: int = 1, busy: float = 0.0) -> int:
    series = [TimeStampedValue(0.0, 0.0), TimeStampedValue(4.0, 4.0 * busy)]
    metrics = {"waiting_tokens": waiting, "tokens_per_s": speed} if waiting else {}
    context = SimpleNamespace(
        aggregated_metrics=metrics, raw_metrics={"busy_s": dict.fromkeys(waiting, series)}, target_num_replicas=target
    )
    return TokenBacklogPolicy(target_wait_s=TARGET_WAIT_S, tokens_per_s=SPEED)(context)[0]
