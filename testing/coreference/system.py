"""A resolver with the extractor before it and long-term memory behind it, as the service joins them."""

from memory.coreference.long_term import LongTermResolver

from memory.ports.language import Extractor, Resolver
from memory.values.dialogue import Role
from memory.values.resolutions import ResolutionRequest
from storage.inmemory.record import InMemoryRecord

from .cases import Case, Verdict, judge


class System:
    """A resolver and the extractor that has read the turns before it sees them.

    Args:
        resolver: Without long-term memory, which every case brings along.
        reader: Reads the user's turns; None leaves that to the resolver.
    """

    def __init__(self, resolver: Resolver, reader: Extractor | None = None) -> None:
        self._resolver = resolver
        self._reader = reader

    async def verdict(self, case: Case) -> Verdict:
        """Runs the system on a case, with an empty memory."""
        record = InMemoryRecord()
        await case.remember(record)
        request = await self._read(case.request())
        return judge(case, await LongTermResolver(self._resolver, record=record).resolve(request))

    async def _read(self, request: ResolutionRequest) -> ResolutionRequest:
        if self._reader is None:
            return request
        turns = []
        for turn in request.turns:
            if turn.role is Role.USER:
                [extraction] = await self._reader.extract([turn.content])
                turn = turn.model_copy(update={"mentions": extraction.mentions})
            turns.append(turn)
        return request.model_copy(update={"turns": tuple(turns)})
