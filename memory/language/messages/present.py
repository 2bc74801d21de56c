"""Which date or time a message asks for that is for the present (`MessageKind.PRESENT`)."""

import re
from dataclasses import dataclass
from datetime import datetime

from ...values.text import fold_lower
from ..time_windows import TimeWindow
from ..times import find_relative_time

_HOUR = re.compile(r"几点|时间|\btime\b|\b(?:how late|clock|hour)\b")


@dataclass(frozen=True, slots=True)
class Present:
    """What is asked for: the day or a longer period, None for today; with `hour` the time of day as well."""

    window: TimeWindow | None
    hour: bool = False


def asked_present(text: str, now: datetime) -> Present:
    """What such a message asks for: 「明天星期幾？」, "what's the date?", 「現在幾點」."""
    folded = fold_lower(text)
    if _HOUR.search(folded):
        return Present(None, hour=True)
    return Present(find_relative_time(folded, now))
