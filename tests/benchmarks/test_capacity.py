"""The capacity model against queues whose figures are known."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.load.capacity import CostModel, check, cost_model, erlang_c, plan, wait_percentile_s

_MODEL = CostModel(
    demand_s={"Embedder": 0.06, "Ingress": 0.02, "cluster": 0.01},
    rest_cores=0.1,
    tokens=40,
    base_per_s=5,
    base_p95_s=0.1,
    cores=2,
)


@pytest.mark.parametrize(("servers", "load", "expected"), [(1, 0.5, 0.5), (2, 1.0, 1 / 3), (8, 6.4, 0.4577)])
def test_erlang_c_has_its_textbook_values(servers: int, load: float, expected: float) -> None:
    assert erlang_c(servers, load) == pytest.approx(expected, abs=5e-4)


def test_on_one_core_the_wait_is_that_of_m_m_1() -> None:
    per_s, service_s = 8.0, 0.1
    expected = math.log(0.8 / 0.05) / (1 / service_s - per_s)
    assert wait_percentile_s(per_s, service_s, 1) == pytest.approx(expected)


@given(st.floats(0.1, 30), st.floats(0.1, 30), st.floats(0.3, 16))
def test_more_load_never_waits_less(one: float, other: float, cores: float) -> None:
    low, high = sorted((one, other))
    assert wait_percentile_s(low, 0.1, cores) <= wait_percentile_s(high, 0.1, cores)


def test_work_piles_up_where_there_are_too_few_cores() -> None:
    assert math.isinf(wait_percentile_s(21, 0.1, 2))
    assert math.isinf(wait_percentile_s(1, 0.1, 0))


def test_twice_the_users_need_twice_the_busy_cores_and_no_fewer_replicas() -> None:
    once = plan(_MODEL, users=500, per_minute=6, target=0.7)
    twice = plan(_MODEL, users=1000, per_minute=6, target=0.7)
    assert twice["busy_cores"]["Embedder"] == pytest.approx(2 * once["busy_cores"]["Embedder"])
    assert all(twice["replicas"][name] >= count for name, count in once["replicas"].items())
    assert twice["replicas"]["Ingress"] == math.ceil(100 * 0.02 / 0.7)


def test_with_gpus_the_embedder_leaves_the_cores() -> None:
    needed = plan(_MODEL, users=10_000, per_minute=60, target=0.5, gpu_tokens_per_s=200_000)
    assert "Embedder" not in needed["busy_cores"]
    assert needed["gpus"] == math.ceil(10_000 * 40 / (0.5 * 200_000))


def _stage(label: str, per_s: float, busy: float, p95_ms: float) -> dict[str, Any]:
    return {
        "label": label,
        "requests": int(per_s * 10),
        "offered_per_s": per_s,
        "sustained_per_s": per_s,
        "p95_ms": p95_ms,
        "spent": {"seconds": 10.0, "cpu_s": {"Embedder": busy * 10}, "machine_busy_s": busy * 10, "tokens": 400.0},
    }


def _report() -> dict[str, Any]:
    """A machine of 2 cores on which a request takes 0.1 CPU seconds and nothing is spent at rest."""
    rest = {"seconds": 5.0, "cpu_s": {"Embedder": 0.0}}
    stages = [_stage("closed", 20, 2.0, 900), _stage("50%", 10, 1.0, 150), _stage("90%", 18, 1.8, 700)]
    return {"cores": 2, "rest": rest, "stages": stages}


def test_costs_are_what_a_stage_spent_beyond_rest_over_its_requests() -> None:
    report = _report()
    report["rest"]["cpu_s"] = {"Embedder": 1.0}
    model = cost_model(report, report["stages"][1])
    assert model.rest_cores == pytest.approx(0.2)
    assert model.demand_s["Embedder"] == pytest.approx(0.08)
    assert model.tokens == 4


def test_the_check_predicts_the_stages_that_it_was_not_given() -> None:
    lines = {(line["what"], line["stage"]): line for line in check(_report())}
    assert lines["capacity, requests/s", "closed"]["error"] == pytest.approx(0, abs=1e-3)
    assert lines["cores busy", "90%"]["error"] == pytest.approx(0, abs=1e-3)
    assert lines["p95, ms", "90%"]["predicted"] > 150


def test_a_report_without_cpu_seconds_is_refused() -> None:
    report = _report()
    report["stages"][1]["spent"]["cpu_s"] = {}
    with pytest.raises(ValueError, match="--home"):
        cost_model(report, report["stages"][1])
