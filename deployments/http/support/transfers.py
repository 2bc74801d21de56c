"""Files of exports and imports while they are made and read: few at a time, and private."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from memory.values.errors import Overloaded

_AT_ONCE = 4
_RETRY_AFTER_S = 10.0
_CHUNK_BYTES = 262_144


class Transfers:
    """Temporary files for exports and imports: of a user one at a time, of all a few.

    A file keeps a slow client from holding a view of the record open, and lets an import be read before it is written.
    It has no name and is gone when it is closed, or when the process dies.

    Args:
        folder: Where the files are; the system's folder for such files where not given.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._users: set[str] = set()

    @asynccontextmanager
    async def open(self, user_id: str) -> AsyncIterator[BinaryIO]:
        """A file for one export or import of this user.

        Raises:
            Overloaded: One of the user, or as many as allowed, are in progress.
        """
        if user_id in self._users or len(self._users) == _AT_ONCE:
            raise Overloaded("An export or import is in progress; try again later.", retry_after_s=_RETRY_AFTER_S)
        self._users.add(user_id)
        try:
            with TemporaryFile(dir=self._folder) as file:
                yield cast("BinaryIO", file)
        finally:
            self._users.remove(user_id)


async def fill(file: BinaryIO, chunks: AsyncIterator[bytes]) -> None:
    """Writes chunks into a file and goes back to its beginning."""
    async for chunk in chunks:
        await asyncio.to_thread(file.write, chunk)
    file.seek(0)


async def chunks_of(file: BinaryIO) -> AsyncIterator[bytes]:
    """The rest of a file, in pieces."""
    while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
        yield chunk
