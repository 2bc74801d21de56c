"""What a store has acknowledged is there, once, after its process was killed at any point of any sequence of writes.

`python -m benchmarks.durability` does the same with hundreds of sequences.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from testing.durability.plans import Death, Op, Plan, Step, Verdict
from testing.durability.strategies import plans
from testing.durability.zygote import Zygote

# No shrinking: where a process dies is never the same twice. Examples are drawn the same in every run.
killing = settings(
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)
RECORD_ONLY = tuple(op for op in Op if op is not Op.INDEX)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    """Forks the processes that are killed."""
    with Zygote() as started:
        yield started


def everything(*, index: bool) -> tuple[Step, ...]:
    """A sequence with each kind of write."""
    ops = [op for op in Op if op is not Op.INDEX]
    return tuple(Step(op, 3) for op in (*ops, Op.APPEND, *([Op.INDEX, Op.LEARN, Op.INDEX] if index else [])))


@settings(killing, max_examples=18)
@given(plan=plans(Death.ALL, RECORD_ONLY))
def test_the_record_holds_exactly_what_was_acknowledged_when_its_process_is_killed(zygote: Zygote, plan: Plan) -> None:
    assert_sound(zygote.run(plan), plan)


@settings(killing, max_examples=3)
@given(plan=plans(Death.ALL))
def test_draining_makes_the_index_equal_to_the_record_when_their_process_is_killed(zygote: Zygote, plan: Plan) -> None:
    assert_sound(zygote.run(plan), plan)


@settings(killing, max_examples=2)
@given(plan=plans(Death.POWER))
def test_logs_that_a_power_cut_tore_leave_whole_writes_and_an_index_that_can_be_mended(
    zygote: Zygote, plan: Plan
) -> None:
    assert_sound(zygote.run(plan), plan)


@pytest.mark.parametrize("kill_after", [5, 9])
def test_the_record_takes_writes_while_the_index_is_dead_and_nothing_is_lost(zygote: Zygote, kill_after: int) -> None:
    plan = Plan(Death.INDEX, (everything(index=True),) * 2, kill_after=kill_after, jitter_us=0)
    verdict = zygote.run(plan)
    assert_sound(verdict, plan)
    assert verdict.acknowledged >= 2 * len(everything(index=False))


def test_files_that_were_being_created_are_completed_by_the_next_start(zygote: Zygote) -> None:
    plan = Plan(Death.BIRTH, (everything(index=True),), kill_after=0, jitter_us=100_000)
    assert_sound(zygote.run(plan), plan)


def test_all_writes_of_a_finished_sequence_are_there(zygote: Zygote) -> None:
    plan = Plan(Death.ALL, (everything(index=True),) * 3, kill_after=3 * len(everything(index=True)), jitter_us=0)
    verdict = zygote.run(plan)
    assert_sound(verdict, plan)
    assert verdict.acknowledged == plan.kill_after
    assert not verdict.in_flight


def assert_sound(verdict: Verdict, plan: Plan) -> None:
    assert not verdict.error, f"{verdict.error}\n{plan}"
    assert verdict.is_sound(plan.death), f"{verdict}\n{plan}"
