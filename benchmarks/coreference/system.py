"""An extractor and a resolver with the stores around them, as the service joins them."""

from memory.chat.reader import MessageReader
from memory.ports.models.language import Extractor, Resolver
from memory.values.understanding.dialogue import Role, Turn
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.sessions import InMemorySessions

from .cases import NOW, USER, Case, Verdict, judge

_SESSION = "s"


class System:
    """Reads the query of a case in its session, whose turns were extracted from one by one.

    Args:
        extractor: Reads messages.
        resolver: Makes resolutions of what was read.
    """

    def __init__(self, extractor: Extractor, resolver: Resolver) -> None:
        self._extractor = extractor
        self._resolver = resolver

    async def verdict(self, case: Case) -> Verdict:
        """Runs the system on a case, with an empty memory but for what the case remembers."""
        record, sessions = InMemoryRecord(), InMemorySessions(now=lambda: NOW)
        await case.remember(record)
        reader = MessageReader(sessions=sessions, record=record, extractor=self._extractor, resolver=self._resolver)
        for turn in case.conversation():
            await self._append(turn, reader, sessions)
        understood = await reader.read(case.query, session_id=_SESSION, user_id=USER, now=NOW)
        return judge(case, understood.resolution)

    async def _append(self, turn: Turn, reader: MessageReader, sessions: InMemorySessions) -> None:
        """Appends a turn to the session; a message of the user with what it was understood to mean."""
        if turn.role is not Role.USER:
            await sessions.append(_SESSION, user_id=USER, turns=[turn])
            return
        understood = await reader.read(turn.content, session_id=_SESSION, user_id=USER, now=turn.created_at)
        resolution, revision = understood.resolution, understood.resolution.revision
        await sessions.append(
            _SESSION,
            user_id=USER,
            turns=[turn.model_copy(update={"mentions": understood.extraction.mentions})],
            resolutions=[*resolution.resolutions, *((revision.resolution,) if revision else ())],
            revision=revision,
            asked=resolution.clarification,
            query=revision.query if revision else turn.content,
        )
