"""The pull-when-free batcher: whenever a worker is free, it takes as much of what waits as fits (DESIGN §5).

There are no timers: while one batch is computed the next one collects, so batches grow with the load by themselves.
The event loop only enqueues; tokenising and computing run in threads.
"""

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import structlog

from memory.errors import InvalidField, ModelUnavailable, Overloaded
from memory.ports.language import FloatMatrix, Priority, TextKind

from .batch_queue import BatchItem, BatchLimits, BatchQueue, EncodeRequest
from .encoder import EncoderEngine, TokenizedText

_TOKENIZE_AT_ONCE = 64
"""Texts that one call of the tokenizer takes, so that a large request does not hold up the ones behind it."""

_SICK_AFTER_FAILURES = 16
"""So many texts failing one after the other, with none that succeeds, are no poison: the engine is broken."""

_RATE_WEIGHT = 0.2
_RETRY_AFTER_S = (0.1, 60.0)
_COMPONENT = "encoder"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatcherStats:
    """What a batcher has done and has to do.

    Attributes:
        queued_tokens: Tokens that wait (of texts that are tokenised already).
        running_tokens: Tokens that are being computed.
        batches: Batches taken so far.
        items: Texts computed so far.
        tokens: Tokens of these texts.
        padded_tokens: The same with padding: `tokens / padded_tokens` is the share of useful work.
        rejected: Requests refused because the queue was full.
        poisoned: Texts on which the engine failed.
        tokens_per_s: Moving average over batches; 0 before the first.
        batch_tokens: The padded-token budget of a batch now; running out of memory halves it.
    """

    queued_tokens: int
    running_tokens: int
    batches: int
    items: int
    tokens: int
    padded_tokens: int
    rejected: int
    poisoned: int
    tokens_per_s: float
    batch_tokens: int


class TokenBatcher:
    """Merges concurrent requests into batches for one engine.

    Args:
        engine: Computes.
        limits: What a batch and the queue may hold.
        tokenizer_threads: Threads that tokenise, for each priority.
        workers: Threads that compute; a second one only pays where the engine waits for a device.
    """

    def __init__(
        self,
        engine: EncoderEngine,
        *,
        limits: BatchLimits | None = None,
        tokenizer_threads: int = 1,
        workers: int = 1,
    ) -> None:
        self._engine = engine
        self._limits = limits or BatchLimits()
        self._batch_tokens = self._limits.batch_tokens
        self._queue = BatchQueue(self._limits)
        self._state = threading.Condition()  # guards everything below and the queue
        self._admitted_items = dict.fromkeys(Priority, 0)
        self._unsettled: set[EncodeRequest] = set()
        self._running_tokens = self._batches = self._items = self._tokens = self._padded_tokens = 0
        self._rejected = self._poisoned = self._failures_in_a_row = 0
        self._tokens_per_s = 0.0
        self._is_closing = False
        self._end: ModelUnavailable | None = None
        self._tokenizers = {
            priority: ThreadPoolExecutor(tokenizer_threads, f"tokenizer-{priority.name.lower()}")
            for priority in Priority
        }
        self._workers = [
            threading.Thread(target=self._work, name=f"encoder-{number}", daemon=True) for number in range(workers)
        ]
        for worker in self._workers:
            worker.start()

    async def submit(self, texts: Sequence[str], kind: TextKind, priority: Priority) -> FloatMatrix:
        """`submit_counted` without the count."""
        return (await self.submit_counted(texts, kind, priority))[0]

    async def submit_counted(self, texts: Sequence[str], kind: TextKind, priority: Priority) -> tuple[FloatMatrix, int]:
        """Encodes texts in order.

        Returns:
            Shape (len(texts), dimension), float32, one contiguous array; and the number of tokens that were read.

        Raises:
            InvalidField: More texts than the queue could ever hold.
            Overloaded: The queue is full now.
            ModelUnavailable: The batcher is closed, its worker died, or the engine failed on one of these texts.
        """
        if not texts:
            return np.empty((0, self._engine.dimension), np.float32), 0
        self._admit(len(texts), priority)
        try:
            tokenized = await self._tokenize(texts, kind, priority)
            request = EncodeRequest(
                tokenized,
                priority,
                self._engine.dimension,
                asyncio.get_running_loop().create_future(),
            )
            self._enqueue(request)
            try:
                return await request.future, sum(text.token_count for text in tokenized)
            finally:  # also when the caller was cancelled: what still waits leaves the queue
                with self._state:
                    self._settle(request)
        finally:
            with self._state:
                self._admitted_items[priority] -= len(texts)
                self._state.notify_all()

    def stats(self) -> BatcherStats:
        """Figures of this moment."""
        with self._state:
            return BatcherStats(
                queued_tokens=self._queue.tokens(*Priority),
                running_tokens=self._running_tokens,
                batches=self._batches,
                items=self._items,
                tokens=self._tokens,
                padded_tokens=self._padded_tokens,
                rejected=self._rejected,
                poisoned=self._poisoned,
                tokens_per_s=self._tokens_per_s,
                batch_tokens=self._batch_tokens,
            )

    def check_health(self) -> None:
        """Says nothing while the batcher works.

        Raises:
            ModelUnavailable: It is closed, a worker died, or the engine fails on everything.
        """
        with self._state:
            if self._end is not None:
                raise self._end
            if self._failures_in_a_row >= _SICK_AFTER_FAILURES:
                raise ModelUnavailable(
                    f"The encoder failed on {self._failures_in_a_row} texts in a row.", component=_COMPONENT
                )

    async def close(self, drain_s: float = 30.0) -> None:
        """Refuses new requests, finishes those it has and stops; what is not done in time fails.

        Args:
            drain_s: How long to wait for requests that are already here.
        """
        await asyncio.to_thread(self._close, drain_s)

    def _admit(self, items: int, priority: Priority) -> None:
        with self._state:
            if self._end is not None or self._is_closing:
                raise self._end or _closed()
            if items > self._limits.max_waiting_items:
                raise InvalidField(
                    f"{items} texts are more than one request may hold; send at most {self._limits.max_waiting_items}.",
                    field="texts",
                    allowed=f"at most {self._limits.max_waiting_items} texts",
                )
            too_many = self._admitted_items[priority] + items > self._limits.max_waiting_items
            if too_many or self._queue.tokens(priority) >= self._limits.max_waiting_tokens:
                raise self._overloaded(priority)
            self._admitted_items[priority] += items

    async def _tokenize(self, texts: Sequence[str], kind: TextKind, priority: Priority) -> list[TokenizedText]:
        loop = asyncio.get_running_loop()
        tokenized: list[TokenizedText] = []
        try:
            for start in range(0, len(texts), _TOKENIZE_AT_ONCE):
                chunk = texts[start : start + _TOKENIZE_AT_ONCE]
                tokenized += await loop.run_in_executor(self._tokenizers[priority], self._engine.prepare, chunk, kind)
        except Exception as error:
            with self._state:
                self._poisoned += 1
            raise _failure(error) from error
        return tokenized

    def _enqueue(self, request: EncodeRequest) -> None:
        with self._state:
            if self._end is not None:
                raise self._end
            waiting = self._queue.tokens(request.priority)
            if waiting and waiting + request.waiting_tokens > self._limits.max_waiting_tokens:
                raise self._overloaded(request.priority)
            self._queue.add(request)
            self._unsettled.add(request)
            self._state.notify_all()

    def _overloaded(self, priority: Priority) -> Overloaded:
        self._rejected += 1
        ahead = self._queue.tokens(*(lane for lane in Priority if lane <= priority)) + self._running_tokens
        expected_s = ahead / self._tokens_per_s if self._tokens_per_s else 1.0
        return Overloaded(
            "The encoder's queue is full.", retry_after_s=min(max(expected_s, _RETRY_AFTER_S[0]), _RETRY_AFTER_S[1])
        )

    # What follows runs in the worker threads.

    def _work(self) -> None:
        try:
            while batch := self._next_batch():
                started = time.perf_counter()
                self._compute(batch)
                self._finish_batch(batch, time.perf_counter() - started)
        except BaseException as error:  # noqa: BLE001 - a thread that died in silence would leave callers waiting for ever
            _log.exception("encoder_worker_died")
            self._stop(ModelUnavailable(f"The encoder's worker died: {error!r}.", component=_COMPONENT))

    def _next_batch(self) -> list[BatchItem]:
        """Waits for work; an empty list means that there will be none."""
        with self._state:
            while not self._queue:
                if self._end is not None or (self._is_closing and not any(self._admitted_items.values())):
                    return []
                self._state.wait()
            batch = self._queue.take(self._batch_tokens)
            self._batches += 1
            self._running_tokens += _token_count(batch)
            return batch

    def _compute(self, batch: list[BatchItem]) -> None:
        """Computes a batch; where that fails, each half on its own, until the text at fault is alone."""
        batch = [item for item in batch if not item.request.is_settled]
        if not batch:
            return
        try:
            vectors = self._engine.forward([item.text for item in batch])
        except Exception as error:  # noqa: BLE001 - whatever the engine raises reaches the caller as ModelUnavailable
            if len(batch) == 1:
                self._fail_text(batch[0], error)
                return
            if isinstance(error, MemoryError):
                self._halve_budget(max(item.text.token_count for item in batch) * len(batch))
            middle = len(batch) // 2
            self._compute(batch[:middle])
            self._compute(batch[middle:])
        else:
            self._store(batch, vectors)

    def _store(self, batch: list[BatchItem], vectors: FloatMatrix) -> None:
        for row, (request, position) in enumerate(batch):
            request.vectors[position] = vectors[row]
        complete = []
        with self._state:
            self._failures_in_a_row = 0
            self._items += len(batch)
            self._tokens += _token_count(batch)
            for bucket in self._engine.buckets([item.text for item in batch]):
                self._padded_tokens += len(bucket) * batch[bucket[0]].text.token_count
            for request, _ in batch:
                request.missing -= 1
                if not request.missing and not request.is_settled:
                    self._settle(request)
                    complete.append(request)
        _resolve(complete, None)

    def _fail_text(self, item: BatchItem, error: Exception) -> None:
        with self._state:
            self._poisoned += 1
            self._failures_in_a_row += 1
            self._settle(item.request)
        _log.error("encoder_failed_on_text", tokens=item.text.token_count, error=repr(error))
        _resolve([item.request], _failure(error))

    def _halve_budget(self, too_many_tokens: int) -> None:
        with self._state:
            self._batch_tokens = min(self._batch_tokens, too_many_tokens) // 2
            _log.warning("encoder_out_of_memory", batch_tokens=self._batch_tokens)

    def _finish_batch(self, batch: list[BatchItem], elapsed_s: float) -> None:
        tokens = _token_count(batch)
        rate = tokens / max(elapsed_s, 1e-9)
        with self._state:
            self._running_tokens -= tokens
            self._tokens_per_s += (rate - self._tokens_per_s) * (_RATE_WEIGHT if self._tokens_per_s else 1.0)

    def _settle(self, request: EncodeRequest) -> None:
        request.is_settled = True
        self._queue.withdraw(request)
        self._unsettled.discard(request)

    def _stop(self, end: ModelUnavailable) -> None:
        """Ends the batcher: everything that is unfinished fails, and nothing new is taken."""
        with self._state:
            self._end = self._end or end
            unfinished = list(self._unsettled)
            for request in unfinished:
                self._settle(request)
            self._state.notify_all()
        _resolve(unfinished, end)

    def _close(self, drain_s: float) -> None:
        deadline = time.monotonic() + drain_s
        with self._state:
            self._is_closing = True
            self._state.notify_all()
            self._state.wait_for(lambda: self._end or not any(self._admitted_items.values()), timeout=drain_s)
        self._stop(_closed())
        for tokenizers in self._tokenizers.values():
            tokenizers.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.join(max(deadline - time.monotonic(), 0.0))


def _token_count(batch: list[BatchItem]) -> int:
    return sum(item.text.token_count for item in batch)


def _closed() -> ModelUnavailable:
    return ModelUnavailable("The encoder is closed.", component=_COMPONENT)


def _failure(error: Exception) -> ModelUnavailable:
    return ModelUnavailable(f"The encoder failed on a text: {error!r}.", component=_COMPONENT)


def _resolve(requests: Sequence[EncodeRequest], error: ModelUnavailable | None) -> None:
    """Answers callers in their event loops, with one wake-up for each loop."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[EncodeRequest]] = defaultdict(list)
    for request in requests:
        by_loop[request.future.get_loop()].append(request)
    for loop, mine in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, so nobody waits any more
            loop.call_soon_threadsafe(_answer, mine, error)


def _answer(requests: Sequence[EncodeRequest], error: ModelUnavailable | None) -> None:
    for request in requests:
        if request.future.done():
            continue
        if error is None:
            request.future.set_result(request.vectors)
        else:
            request.future.set_exception(error)
