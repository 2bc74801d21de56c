"""`JiyiSaver`: LangGraph's checkpoints in a Jiyi service."""

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import httpx
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from typing_extensions import override

from memory.checkpoints.saver import ItemSaver

from ..client.clients import DEFAULT_URL, AsyncClient
from .remote import RemoteItems


class JiyiSaver(ItemSaver):
    """Keeps the state of a user's graphs, so that an interrupted or killed graph goes on where it was.

    ```python
    graph = builder.compile(checkpointer=JiyiSaver(user_id="ann"))
    graph.invoke(inputs, {"configurable": {"thread_id": "1"}})
    ```

    May be shared by threads and event loops; close it, or use it as a context.

    Args:
        url: Base URL of the service.
        user_id: Whose graphs; not needed where the API key belongs to a user.
        api_key: An API key or token, where the service asks for one.
        serde: Writes and reads values; None for LangGraph's own, which gives of types that it does not know their data.
        patience_s: For how long a call is sent again while the service is away; 0 for one attempt.
        timeout_s: Seconds that one attempt may take.
        transport: In place of the network, for tests.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        user_id: str | None = None,
        api_key: str | None = None,
        serde: SerializerProtocol | None = None,
        patience_s: float = 10.0,
        timeout_s: float = 120.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        client = AsyncClient(url, api_key=api_key, patience_s=patience_s, timeout_s=timeout_s, transport=transport)
        self._remote = RemoteItems("/store/checkpoints/batch", user_id=user_id, client=client)
        super().__init__(self._remote, serde=serde)

    @override
    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._remote.wait_for(self.aget_tuple(config))

    @override
    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        found = self.alist(config, filter=filter, before=before, limit=limit)

        async def following() -> CheckpointTuple | None:
            return await anext(found, None)

        while (checkpoint := self._remote.wait_for(following())) is not None:
            yield checkpoint

    @override
    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self._remote.wait_for(self.aput(config, checkpoint, metadata, new_versions))

    @override
    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._remote.wait_for(self.aput_writes(config, writes, task_id, task_path))

    @override
    def delete_thread(self, thread_id: str) -> None:
        self._remote.wait_for(self.adelete_thread(thread_id))

    def close(self) -> None:
        """Closes the connections."""
        self._remote.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
