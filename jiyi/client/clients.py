"""`Client` and `AsyncClient`: the same calls, over the two transports."""

from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

import httpx

from .endpoints import T_co
from .resources.chat import Conversations
from .transports import AsyncTransport, SyncTransport

if TYPE_CHECKING:
    from .resources.entities import Entities, Relations
    from .resources.facts import Facts
    from .resources.governance import Changes, Review, TypedMemories
    from .resources.graphs import Graphs
    from .resources.knowledge import Knowledge
    from .resources.memories import Memories
    from .resources.operations import Erasures, Index, Keys, Operations, Runs, Users
    from .resources.personas import Personas

DEFAULT_URL = "http://127.0.0.1:8000"


class Api(Conversations[T_co]):
    """All calls; a resource is imported when it is first used."""

    @cached_property
    def entities(self) -> "Entities[T_co]":
        """Names by hand."""
        from .resources.entities import Entities

        return Entities(self._transport)

    @cached_property
    def relations(self) -> "Relations[T_co]":
        """Relations of entities."""
        from .resources.entities import Relations

        return Relations(self._transport)

    @cached_property
    def facts(self) -> "Facts[T_co]":
        """Facts, their categories and their jobs."""
        from .resources.facts import Facts

        return Facts(self._transport)

    @cached_property
    def memories(self) -> "Memories[T_co]":
        """How memories are kept."""
        from .resources.memories import Memories

        return Memories(self._transport)

    @cached_property
    def typed_memories(self) -> "TypedMemories[T_co]":
        """Values with a type and a confidence, and their conflicts."""
        from .resources.governance import TypedMemories

        return TypedMemories(self._transport)

    @cached_property
    def changes(self) -> "Changes[T_co]":
        """The log of changes, and undoing them."""
        from .resources.governance import Changes

        return Changes(self._transport)

    @cached_property
    def review(self) -> "Review[T_co]":
        """What a person is to look at, and the weekly review."""
        from .resources.governance import Review

        return Review(self._transport)

    @cached_property
    def personas(self) -> "Personas[T_co]":
        """Who the assistant is."""
        from .resources.personas import Personas

        return Personas(self._transport)

    @cached_property
    def knowledge(self) -> "Knowledge[T_co]":
        """Documents that all users of an app share."""
        from .resources.knowledge import Knowledge

        return Knowledge(self._transport)

    @cached_property
    def graphs(self) -> "Graphs[T_co]":
        """What the documents of a corpus name, and how it hangs together."""
        from .resources.graphs import Graphs

        return Graphs(self._transport)

    @cached_property
    def runs(self) -> "Runs[T_co]":
        """Background work."""
        from .resources.operations import Runs

        return Runs(self._transport)

    @cached_property
    def users(self) -> "Users[T_co]":
        """Who has something in memory."""
        from .resources.operations import Users

        return Users(self._transport)

    @cached_property
    def erasures(self) -> "Erasures[T_co]":
        """Forgetting a user, or a part of their memory."""
        from .resources.operations import Erasures

        return Erasures(self._transport)

    @cached_property
    def keys(self) -> "Keys[T_co]":
        """API keys."""
        from .resources.operations import Keys

        return Keys(self._transport)

    @cached_property
    def index(self) -> "Index[T_co]":
        """The vector index and its model."""
        from .resources.operations import Index

        return Index(self._transport)

    @cached_property
    def operations(self) -> "Operations[T_co]":
        """Health and metrics."""
        from .resources.operations import Operations

        return Operations(self._transport)


class Client(Api[SyncTransport]):
    """Talks to one service, and waits for each reply; may be shared by threads.

    ```python
    with Client("http://127.0.0.1:8000") as jiyi:
        jiyi.chat("Alice manages the Berlin office.", user_id="tom")
        print(jiyi.chat("Which office does she manage?", user_id="tom").reply)
    ```

    Args:
        url: Base URL.
        api_key: An API key or token, where the service asks for one.
        app: The app to act in, for a credential of scope `admin`.
        patience_s: For how long a call is sent again while the service cannot be reached, is busy or is away; only
            where that is harmless. 0 for one attempt.
        timeout_s: Seconds that one attempt may take.
        transport: In place of the network, for tests.

    Raises:
        ClientError: By every call; `jiyi.errors` has the tree.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        app: str | None = None,
        patience_s: float = 10.0,
        timeout_s: float = 120.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        http = httpx.Client(base_url=url, timeout=timeout_s, headers=_headers(api_key, app), transport=transport)
        super().__init__(SyncTransport(http, patience_s=patience_s))

    def is_ready(self) -> bool:
        """Whether the service can do its work now."""
        return self._transport.is_ready()

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(Api[AsyncTransport]):
    """The same for asyncio: calls are awaited, streams and lists are gone over with `async for`.

    Args:
        url: Base URL.
        api_key: An API key or token, where the service asks for one.
        app: The app to act in, for a credential of scope `admin`.
        patience_s: As of `Client`.
        timeout_s: Seconds that one attempt may take.
        transport: In place of the network, for tests.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        app: str | None = None,
        patience_s: float = 10.0,
        timeout_s: float = 120.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        http = httpx.AsyncClient(base_url=url, timeout=timeout_s, headers=_headers(api_key, app), transport=transport)
        super().__init__(AsyncTransport(http, patience_s=patience_s))

    async def is_ready(self) -> bool:
        """Whether the service can do its work now."""
        return await self._transport.is_ready()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _headers(api_key: str | None, app: str | None) -> dict[str, str]:
    return ({"Authorization": f"Bearer {api_key}"} if api_key else {}) | ({"X-Jiyi-App": app} if app else {})
