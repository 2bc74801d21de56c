"""Waiting until erasures are done, for calls that may wait."""

import asyncio

from memory.ports.erasures import ErasureService
from memory.values.governance.erasures import Erasure, ErasureState

_WAIT_S = 30.0
_POLL_S = 0.25


async def until_done(erasures: ErasureService, erasure: Erasure) -> Erasure:
    """The erasure when it is done, or after half a minute."""
    try:
        async with asyncio.timeout(_WAIT_S):
            while erasure.state is not ErasureState.DONE:
                await asyncio.sleep(_POLL_S)
                erasure = await erasures.get(erasure.erasure_id)
    except TimeoutError:
        pass
    return erasure
