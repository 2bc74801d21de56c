"""The ways in which a contestant is asked; each imports what it needs when it is opened."""

import asyncio
import base64
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from benchmarks.embedding.workloads import EmbeddingRequest

Vectors = npt.NDArray[np.float32]
_DEADLINE_S = 60.0
PREFIXES = {"query": "query: ", "passage": "passage: "}
"""What multilingual-e5 was trained with; put before a text by whoever knows its kind."""


class Transport(ABC):
    """One way to a contestant."""

    def __init__(self) -> None:
        self._requests: Sequence[Any] = ()

    def prepare(self, requests: Sequence[EmbeddingRequest]) -> None:
        """Makes requests ready to be sent, so that sending them costs the generator little."""
        self._requests = [self._prepared(request) for request in requests]

    def _prepared(self, request: EmbeddingRequest) -> Any:
        return request

    @abstractmethod
    async def send(self, index: int) -> str:
        """Sends prepared request number `index` (modulo their number) and says how it ended."""

    @abstractmethod
    async def vectors(self, request: EmbeddingRequest) -> Vectors:
        """The contestant's vectors for a request; shape (texts, dimension)."""


class InProcess(Transport):
    """sentence-transformers in one thread of this process, as a library is used."""

    def __init__(self, folder: str, threads: int) -> None:
        super().__init__()
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(threads)
        self._model = SentenceTransformer(folder, device="cpu", local_files_only=True)
        self._thread = ThreadPoolExecutor(1)

    @override
    def _prepared(self, request: EmbeddingRequest) -> list[str]:
        return [PREFIXES[request.kind] + text for text in request.texts]

    @override
    async def send(self, index: int) -> str:
        await self._encode(self._requests[index % len(self._requests)])
        return "200"

    @override
    async def vectors(self, request: EmbeddingRequest) -> Vectors:
        return await self._encode(self._prepared(request))

    def token_counts(self, request: EmbeddingRequest) -> list[int]:
        """Tokens of each text as the model reads it."""
        encoded = self._model.tokenizer(self._prepared(request), truncation=True, max_length=512)
        return [len(ids) for ids in encoded["input_ids"]]

    async def _encode(self, texts: list[str]) -> Vectors:
        def encode() -> Vectors:
            vectors: Vectors = self._model.encode(
                texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False
            )
            return vectors

        return await asyncio.get_running_loop().run_in_executor(self._thread, encode)


class Http(Transport):
    """An OpenAI-compatible server; vectors come as base64, which costs client and server least."""

    def __init__(self, caller: Any, path: str, *, names_kind: bool) -> None:
        super().__init__()
        self._caller = caller
        self._path = path
        self._names_kind = names_kind

    @override
    def _prepared(self, request: EmbeddingRequest) -> bytes:
        texts = list(request.texts)
        body: dict[str, Any] = {"encoding_format": "base64"}
        if self._names_kind:
            body |= {"input": texts, "input_type": request.kind}
        else:
            body |= {"input": [PREFIXES[request.kind] + text for text in texts]}
        if len(texts) == 1:
            body["input"] = body["input"][0]
        return json.dumps(body, ensure_ascii=False).encode()

    @override
    async def send(self, index: int) -> str:
        status: str = await self._caller.send("POST", self._path, self._requests[index % len(self._requests)])
        return status

    @override
    async def vectors(self, request: EmbeddingRequest) -> Vectors:
        reply = json.loads(await self._caller.fetch("POST", self._path, self._prepared(request)))
        return np.stack([np.frombuffer(base64.b64decode(item["embedding"]), "<f4") for item in reply["data"]])


class Handle(Transport):
    """The Embedder's Serve handle, held by a driver in the same cluster as other deployments hold it."""

    def __init__(self, address: str) -> None:
        super().__init__()
        import ray
        from ray import serve

        from deployments.app import APP_NAME
        from deployments.remote.embedder import RemoteEmbedder, RemoteEncoder
        from deployments.remote.handles import Remote
        from memory.ports.models.language import Priority, TextKind
        from models.assets.catalog import DEFAULT_MODEL, get_model

        ray.init(address=address, log_to_driver=False)
        remote = Remote(serve.get_deployment_handle("Embedder", APP_NAME), component="embedder", deadline_s=_DEADLINE_S)
        self._encoder = RemoteEncoder(
            RemoteEmbedder(remote), model_id=DEFAULT_MODEL, dimension=get_model(DEFAULT_MODEL).dimension or 0
        )
        self._kind, self._priority = TextKind, Priority

    @override
    def _prepared(self, request: EmbeddingRequest) -> Callable[[], Awaitable[Vectors]]:
        priority = self._priority.INTERACTIVE if len(request.texts) == 1 else self._priority.BATCH
        return partial(self._encoder.encode, list(request.texts), kind=self._kind(request.kind), priority=priority)

    @override
    async def send(self, index: int) -> str:
        from memory.values.errors import JiyiError, Overloaded

        try:
            await self._requests[index % len(self._requests)]()
        except Overloaded:
            return "429"
        except JiyiError as error:
            return type(error).__name__
        return "200"

    @override
    async def vectors(self, request: EmbeddingRequest) -> Vectors:
        return np.asarray(await self._prepared(request)())


@asynccontextmanager
async def open_transport(settings: dict[str, Any]) -> AsyncIterator[Transport]:
    """The transport that a job names, open while the context lasts."""
    if settings["kind"] == "in_process":
        yield InProcess(settings["folder"], settings["threads"])
    elif settings["kind"] == "handle":
        yield Handle(settings["address"])
    else:
        from benchmarks.load.http import HttpCaller

        async with HttpCaller(settings["url"]) as caller:
            yield Http(caller, settings["path"], names_kind=settings["names_kind"])
