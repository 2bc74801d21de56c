"""Random runs, drawn by hypothesis."""

from collections.abc import Sequence

from hypothesis import strategies as st

from .plans import Death, Op, Plan, Step

_SEQUENCE_LENGTH = 10
_LONGEST_JITTER_US = 8_000
_LONGEST_BIRTH_US = 600_000
_LONG_TEXT = 100_000
_WAL_FRAME_BYTES = 4_096 + 24


_SHARES = st.sampled_from(
    [step / 20 for step in range(21)]
)  # integers are mostly small: all would die at the beginning


def plans(death: Death, ops: Sequence[Op] = tuple(Op)) -> st.SearchStrategy[Plan]:
    """Runs of one to three users with four to ten writes each, killed anywhere from the first moment to after the end.

    Args:
        death: What ends them.
        ops: What they may write.
    """
    padding = st.sampled_from((0, 0, 0, _LONG_TEXT))
    steps = st.builds(Step, op=st.sampled_from(ops), items=st.integers(1, 6), padding=padding)
    sequences = st.lists(steps, min_size=4, max_size=_SEQUENCE_LENGTH).map(tuple)

    @st.composite
    def drawn(draw: st.DrawFn) -> Plan:
        users = draw(st.lists(sequences, min_size=1, max_size=3).map(tuple))
        total = sum(map(len, users))
        birth, torn = death is Death.BIRTH, death is Death.POWER
        return Plan(
            death=death,
            sequences=users,
            kill_after=0 if birth else round(total * draw(_SHARES)),
            jitter_us=draw(st.integers(0, _LONGEST_BIRTH_US if birth else _LONGEST_JITTER_US)),
            flush_interval_s=draw(st.sampled_from((0.005, 5.0))),
            torn_record=draw(st.integers(0, 4 * _WAL_FRAME_BYTES)) if torn else 0,
            torn_index=draw(st.integers(0, 2_000)) if torn else 0,
        )

    return drawn()
