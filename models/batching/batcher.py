"""The pull-when-free batcher: a free worker takes as many waiting inputs as fit into a batch (DESIGN §5).

There are no timers: inputs queue while a batch is computed, so batches grow with the load. The event loop only
enqueues; tokenising and computing run in threads.
"""

import asyncio
import math
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

import structlog

from memory.ports.models.language import Priority
from memory.values.errors import InvalidField, ModelUnavailable, Overloaded

from .engine import BatchEngine, Outputs, OutputT, PreparedT
from .queue import BatchBudget, BatchItem, BatchLimits, BatchQueue, BatchRequest
from .stats import BatcherStats, BusyClock

InputT = TypeVar("InputT")

_PREPARE_AT_ONCE = 64
"""Inputs of one tokenizer call, so that a large request does not block the next ones."""

_SICK_AFTER_FAILURES = 16
"""Failed inputs in a row after which the engine counts as broken."""

_NICENESS_STEPS = 10
"""Each step of niceness costs about a fifth of the processor time; ten leave a ninth (`sched(7)`)."""

_HIGHEST_NICENESS = 19
_RATE_WEIGHT = 0.2
_RETRY_AFTER_S = (0.1, 60.0)
_log = structlog.get_logger(__name__)


class TokenBatcher(Generic[PreparedT, OutputT]):
    """Merges concurrent requests into batches for one engine.

    Args:
        engine: Computes batches.
        limits: Bounds of a batch and of the queue.
        tokenizer_threads: Tokenizer threads for each priority.
        workers: Computing threads for each lane; more than one only helps where the engine waits for a device.
    """

    def __init__(
        self,
        engine: BatchEngine[PreparedT, OutputT],
        *,
        limits: BatchLimits | None = None,
        tokenizer_threads: int = 1,
        workers: int = 1,
    ) -> None:
        self._engine = engine
        self._limits = limits or BatchLimits()
        self._component = engine.component
        self._budget = BatchBudget(self._limits.batch_tokens)
        self._queue: BatchQueue[PreparedT, OutputT] = BatchQueue(self._limits)
        self._state = threading.Condition()  # guards everything below and the queue
        self._admitted_items = dict.fromkeys(Priority, 0)
        self._unsettled: set[BatchRequest[PreparedT, OutputT]] = set()
        self._running_tokens = self._batches = self._items = self._tokens = self._padded_tokens = 0
        self._rejected = self._poisoned = self._failures_in_a_row = 0
        self._tokens_per_s = 0.0
        self._loaded_tokens_per_s = 0.0  # of interactive batches behind which more waited: the others are not full
        self._busy = BusyClock()
        self._is_closing = False
        self._end: ModelUnavailable | None = None
        self._tokenizers = {
            priority: ThreadPoolExecutor(tokenizer_threads, f"{self._component}-tokenizer-{priority.name.lower()}")
            for priority in Priority
        }
        lanes = [(priority,) for priority in Priority] if self._limits.own_lanes else [tuple(Priority)]
        self._workers = [
            threading.Thread(
                target=self._work, args=(lane,), name=f"{self._component}-{lane[0].name.lower()}-{number}", daemon=True
            )
            for lane in lanes
            for number in range(workers)
        ]
        for worker in self._workers:
            worker.start()

    async def submit(
        self,
        inputs: Sequence[InputT],
        prepare: Callable[[Sequence[InputT]], Sequence[PreparedT]],
        *,
        priority: Priority,
    ) -> list[OutputT]:
        """`submit_counted` without the count."""
        return (await self.submit_counted(inputs, prepare, priority=priority))[0]

    async def submit_counted(
        self,
        inputs: Sequence[InputT],
        prepare: Callable[[Sequence[InputT]], Sequence[PreparedT]],
        *,
        priority: Priority,
    ) -> tuple[list[OutputT], int]:
        """Computes inputs in order.

        Args:
            inputs: The inputs of one caller.
            prepare: Tokenises a part of them, in order; called in a tokenizer thread.
            priority: Their lane.

        Returns:
            An output for each input, and their number of tokens.

        Raises:
            InvalidField: More inputs than the capacity of the queue.
            Overloaded: The queue is full.
            ModelUnavailable: The batcher is closed, its worker died, or the engine failed on one of these inputs.
        """
        if not inputs:
            return [], 0
        self._admit(len(inputs), priority)
        try:
            prepared = await self._prepare(inputs, prepare, priority)
            request = BatchRequest[PreparedT, OutputT](prepared, priority, asyncio.get_running_loop().create_future())
            self._enqueue(request)
            try:
                return await request.future, sum(item.token_count for item in prepared)
            finally:  # also when the caller was cancelled: its waiting inputs leave the queue
                with self._state:
                    self._settle(request)
        finally:
            with self._state:
                self._admitted_items[priority] -= len(inputs)
                self._state.notify_all()

    def stats(self) -> BatcherStats:
        """The current figures."""
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
                busy_s=self._busy.seconds(),
                batch_tokens=self._budget.tokens,
            )

    def check_health(self) -> None:
        """Does nothing while the batcher works.

        Raises:
            ModelUnavailable: It is closed, a worker died, or the engine fails on everything.
        """
        with self._state:
            if self._end is not None:
                raise self._end
            if self._failures_in_a_row >= _SICK_AFTER_FAILURES:
                raise ModelUnavailable(
                    f"The {self._component} failed on {self._failures_in_a_row} inputs in a row.",
                    component=self._component,
                )

    async def close(self, drain_s: float = 30.0) -> None:
        """Refuses new requests, finishes the others within `drain_s` seconds, and stops; unfinished requests fail."""
        await asyncio.to_thread(self._close, drain_s)

    def _admit(self, items: int, priority: Priority) -> None:
        with self._state:
            if self._end is not None or self._is_closing:
                raise self._end or self._closed()
            if items > self._limits.max_waiting_items:
                raise InvalidField(
                    f"{items} texts are more than one request may hold; send at most {self._limits.max_waiting_items}.",
                    field="texts",
                    allowed=f"at most {self._limits.max_waiting_items} texts",
                )
            too_many = self._admitted_items[priority] + items > self._limits.max_waiting_items
            too_long = self._waits_too_long(priority)
            if too_many or too_long or self._queue.tokens(priority) >= self._limits.max_waiting_tokens:
                raise self._overloaded(priority)
            self._admitted_items[priority] += items

    async def _prepare(
        self,
        inputs: Sequence[InputT],
        prepare: Callable[[Sequence[InputT]], Sequence[PreparedT]],
        priority: Priority,
    ) -> list[PreparedT]:
        loop = asyncio.get_running_loop()
        prepared: list[PreparedT] = []
        try:
            for start in range(0, len(inputs), _PREPARE_AT_ONCE):
                chunk = inputs[start : start + _PREPARE_AT_ONCE]
                prepared += await loop.run_in_executor(self._tokenizers[priority], prepare, chunk)
        except Exception as error:
            with self._state:
                self._poisoned += 1
            raise self._failure(error) from error
        return prepared

    def _enqueue(self, request: BatchRequest[PreparedT, OutputT]) -> None:
        with self._state:
            if self._end is not None:
                raise self._end
            waiting = self._queue.tokens(request.priority)
            too_many = waiting and waiting + request.waiting_tokens > self._limits.max_waiting_tokens
            if too_many or self._waits_too_long(request.priority):
                raise self._overloaded(request.priority)
            self._queue.add(request)
            self._unsettled.add(request)
            self._state.notify_all()

    def _waits_too_long(self, priority: Priority) -> bool:
        ahead = self._queue.tokens(Priority.INTERACTIVE)
        return priority is Priority.INTERACTIVE and ahead > self._limits.max_wait_s * (
            self._loaded_tokens_per_s or math.inf
        )

    def _overloaded(self, priority: Priority) -> Overloaded:
        self._rejected += 1
        ahead = self._queue.tokens(*(lane for lane in Priority if lane <= priority)) + self._running_tokens
        tokens_per_s = self._loaded_tokens_per_s or self._tokens_per_s
        expected_s = ahead / tokens_per_s if tokens_per_s else 1.0
        return Overloaded(
            f"The {self._component}'s queue is full.",
            retry_after_s=min(max(expected_s, _RETRY_AFTER_S[0]), _RETRY_AFTER_S[1]),
        )

    # The methods below run in the worker threads.

    def _work(self, lanes: Sequence[Priority]) -> None:
        try:
            if Priority.INTERACTIVE not in lanes:
                _lower_thread_priority()
            while batch := self._next_batch(lanes):
                with self._state:
                    is_loaded = Priority.INTERACTIVE in lanes and self._queue.has(Priority.INTERACTIVE)
                started = time.perf_counter()
                self._compute(batch)
                self._finish_batch(batch, time.perf_counter() - started, is_loaded=is_loaded)
        except BaseException as error:  # noqa: BLE001 - a thread that died in silence would leave callers waiting for ever
            _log.exception("model_worker_died", component=self._component)
            self._stop(ModelUnavailable(f"The {self._component}'s worker died: {error!r}.", component=self._component))

    def _next_batch(self, lanes: Sequence[Priority]) -> list[BatchItem[PreparedT, OutputT]]:
        """Waits for work in these lanes; an empty list ends the worker."""
        with self._state:
            while not self._queue.has(*lanes):
                if self._end is not None or (self._is_closing and not any(self._admitted_items.values())):
                    return []
                self._state.wait()
            batch = self._queue.take(self._budget.tokens, lanes)
            self._batches += 1
            self._busy.start()
            self._running_tokens += _token_count(batch)
            return batch

    def _compute(self, batch: list[BatchItem[PreparedT, OutputT]]) -> None:
        """Computes a batch; on an error computes each half, until the failing input is alone."""
        batch = [item for item in batch if not item.request.is_settled]
        if not batch:
            return
        try:
            outputs = self._engine.forward([item.prepared for item in batch])
        except Exception as error:  # noqa: BLE001 - whatever the engine raises reaches the caller as ModelUnavailable
            if len(batch) == 1:
                self._fail_input(batch[0], error)
                return
            if isinstance(error, MemoryError):
                self._lower_budget(max(item.prepared.token_count for item in batch) * len(batch))
            middle = len(batch) // 2
            self._compute(batch[:middle])
            self._compute(batch[middle:])
        else:
            self._store(batch, outputs)

    def _store(self, batch: list[BatchItem[PreparedT, OutputT]], outputs: Outputs[OutputT]) -> None:
        complete = []
        with self._state:
            self._failures_in_a_row = 0
            self._items += len(batch)
            self._tokens += _token_count(batch)
            self._padded_tokens += self._engine.padded_tokens([item.prepared for item in batch])
            self._budget.record_success()
            for row, (request, position) in enumerate(batch):
                request.store(position, outputs[row])
                if request.is_complete and not request.is_settled:
                    self._settle(request)
                    complete.append(request)
        _resolve(complete, None)

    def _fail_input(self, item: BatchItem[PreparedT, OutputT], error: Exception) -> None:
        with self._state:
            self._poisoned += 1
            self._failures_in_a_row += 1
            self._settle(item.request)
        _log.error(
            "model_failed_on_input", component=self._component, tokens=item.prepared.token_count, error=repr(error)
        )
        _resolve([item.request], self._failure(error))

    def _lower_budget(self, too_many_tokens: int) -> None:
        with self._state:
            self._budget.record_out_of_memory(too_many_tokens)
            _log.warning("model_out_of_memory", component=self._component, batch_tokens=self._budget.tokens)

    def _finish_batch(self, batch: list[BatchItem[PreparedT, OutputT]], elapsed_s: float, *, is_loaded: bool) -> None:
        tokens = _token_count(batch)
        rate = tokens / max(elapsed_s, 1e-9)
        with self._state:
            self._running_tokens -= tokens
            self._busy.stop()
            self._tokens_per_s = _moved(self._tokens_per_s, rate)
            if is_loaded:
                self._loaded_tokens_per_s = _moved(self._loaded_tokens_per_s, rate)

    def _settle(self, request: BatchRequest[PreparedT, OutputT]) -> None:
        request.is_settled = True
        self._queue.withdraw(request)
        self._unsettled.discard(request)

    def _stop(self, end: ModelUnavailable) -> None:
        """Stops the batcher: unfinished requests fail, and new ones are refused."""
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
        self._stop(self._closed())
        for tokenizers in self._tokenizers.values():
            tokenizers.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.join(max(deadline - time.monotonic(), 0.0))

    def _closed(self) -> ModelUnavailable:
        return ModelUnavailable(f"The {self._component} is closed.", component=self._component)

    def _failure(self, error: Exception) -> ModelUnavailable:
        return ModelUnavailable(f"The {self._component} failed on an input: {error!r}.", component=self._component)


def _lower_thread_priority() -> None:
    """Raises the niceness of the calling thread and of the threads that it starts (`nice(2)`); only on Linux.

    A thread pool that a library starts later for its caller (OpenMP, so all of torch on a CPU) inherits it.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        niceness = min(os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS_STEPS, _HIGHEST_NICENESS)
        os.setpriority(os.PRIO_PROCESS, thread, niceness)


def _moved(average: float, value: float) -> float:
    """A moving average with one more value."""
    return average + (value - average) * (_RATE_WEIGHT if average else 1.0)


def _token_count(batch: Sequence[BatchItem[PreparedT, OutputT]]) -> int:
    return sum(item.prepared.token_count for item in batch)


def _resolve(requests: Sequence[BatchRequest[PreparedT, OutputT]], error: ModelUnavailable | None) -> None:
    """Sets the results of requests in their event loops, with one wake-up for each loop."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[BatchRequest[PreparedT, OutputT]]] = defaultdict(list)
    for request in requests:
        by_loop[request.future.get_loop()].append(request)
    for loop, loop_requests in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, so no caller waits
            loop.call_soon_threadsafe(_answer, loop_requests, error)


def _answer(requests: Sequence[BatchRequest[PreparedT, OutputT]], error: ModelUnavailable | None) -> None:
    for request in requests:
        if request.future.done():
            continue
        if error is None:
            request.future.set_result(request.outputs())
        else:
            request.future.set_exception(error)
