"""How sure Jiyi is of what was said more than once (001 §3.2)."""

AGREEMENT_GAIN = 0.1


def agreed(known: float, said: float) -> float:
    """The confidence of something known, both in 0–1, after it was said again: `m + 0.1·(1 − m)`, m the surer of both.

    001 §3.2 asks for an update and gives no formula. This one never falls, never leaves 0–1, does not depend on the
    order, and comes nearer to 1 with each repetition without arriving there.
    """
    surer = max(known, said)
    return surer + AGREEMENT_GAIN * (1.0 - surer)
