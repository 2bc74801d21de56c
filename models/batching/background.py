"""Work that takes what others leave: of a core, of the whole machine."""

import os
import sys
import threading

_STEPS = 10
"""One step of niceness is worth about a quarter of processor time, ten of them a ninth (`sched(7)`)."""
_MOST = 19


def yield_to_others() -> None:
    """Lets every other thread of the machine go before this one, and before those that this one starts (`nice(2)`).

    Only Linux has a niceness for each thread; elsewhere nothing changes. A pool of threads that a library starts for
    its caller (OpenMP, so all of torch on a CPU) inherits it; one that exists already does not.
    """
    if sys.platform != "linux":
        return
    thread = threading.get_native_id()
    niceness = min(os.getpriority(os.PRIO_PROCESS, thread) + _STEPS, _MOST)
    os.setpriority(os.PRIO_PROCESS, thread, niceness)
