"""The queue of a model's inputs, and the choice of the next batch. Not thread-safe: the batcher holds a lock."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

from memory.ports.models.language import Priority

from .engine import OutputT, PreparedT

_FIRST_TRIAL = 64
"""Batches without an error before a lowered budget is raised."""
_LONGEST_TRIAL = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """Bounds of a batch and of the queue. The defaults suit a CPU.

    Attributes:
        batch_tokens: Padded tokens of one batch (longest input x inputs). A longer input is a batch of its own.
        ride_along_tokens: Padded tokens up to which an interactive batch is filled with batch work. On a CPU every
            token costs time; on a GPU batches below some thousand tokens take the same time.
        ageing_batches: Number of batches without any waiting batch work after which the next one begins with it.
        own_lanes: Whether interactive and batch work have separate worker threads, those of batch work with a lower
            priority in the operating system, so that no query waits for a batch. A GPU has no such priorities: there
            both share batches.
        max_waiting_items: Waiting inputs of each priority, so that batch work never blocks interactive work.
        max_waiting_tokens: Waiting tokens of each priority.
        max_wait_s: Seconds that interactive work may have to wait, as far as the measured speed tells: what would wait
            longer is refused at once, so that no caller's deadline passes in a long queue.
    """

    batch_tokens: int = 1024
    ride_along_tokens: int = 0
    ageing_batches: int = 4
    own_lanes: bool = True
    max_waiting_items: int = 4096
    max_waiting_tokens: int = 262_144
    max_wait_s: float = math.inf


GPU_LIMITS = BatchLimits(
    batch_tokens=16_384,
    ride_along_tokens=16_384,
    own_lanes=False,
    max_waiting_items=65_536,
    max_waiting_tokens=4_194_304,
)
"""Limits for a data-centre GPU, which some 8,000 tokens keep busy (SERVING §2)."""


class BatchBudget:
    """The padded tokens of a batch, adapted to the free memory.

    Running out of memory halves the budget. After `_FIRST_TRIAL` batches without an error it doubles, up to its first
    value, since other processes may have freed memory. After a raised budget fails, the next trial takes twice as many
    batches, so that an engine with less memory rarely fails again.

    Args:
        tokens: The first and highest budget.
    """

    def __init__(self, tokens: int) -> None:
        self._most = tokens
        self._trial = _FIRST_TRIAL
        self._successes = 0
        self._was_raised = False
        self.tokens = tokens

    def record_out_of_memory(self, tokens: int) -> None:
        """Lowers the budget after a batch of so many padded tokens did not fit into memory."""
        if self._was_raised:
            self._trial = min(self._trial * 2, _LONGEST_TRIAL)
            self._was_raised = False
        self.tokens = max(min(self.tokens, tokens) // 2, 1)
        self._successes = 0

    def record_success(self) -> None:
        """Counts a batch without an error; enough of them raise a lowered budget."""
        if self.tokens < self._most:
            self._successes += 1
            if self._successes >= self._trial:
                self.tokens = min(self.tokens * 2, self._most)
                self._was_raised = True
                self._successes = 0


class BatchRequest(Generic[PreparedT, OutputT]):
    """The inputs of one caller and their outputs so far.

    The longest input goes first, so that inputs of similar length share a batch.

    Args:
        inputs: Tokenised, in the caller's order; at least one.
        priority: Its lane.
        future: Awaited by the caller; belongs to the caller's event loop.
    """

    def __init__(self, inputs: Sequence[PreparedT], priority: Priority, future: asyncio.Future[list[OutputT]]) -> None:
        self.inputs = inputs
        self.priority = priority
        self.future = future
        self.waiting = sorted(range(len(inputs)), key=lambda position: inputs[position].token_count)
        self.waiting_tokens = sum(prepared.token_count for prepared in inputs)
        self.is_settled = False
        self._outputs: dict[int, OutputT] = {}

    def next_tokens(self) -> int:
        """Tokens of the next input."""
        return self.inputs[self.waiting[-1]].token_count

    def take(self) -> "BatchItem[PreparedT, OutputT]":
        """Takes the next input."""
        position = self.waiting.pop()
        self.waiting_tokens -= self.inputs[position].token_count
        return BatchItem(self, position)

    def store(self, position: int, output: OutputT) -> None:
        """Stores the output of an input."""
        self._outputs[position] = output

    @property
    def is_complete(self) -> bool:
        """Whether every input has an output."""
        return len(self._outputs) == len(self.inputs)

    def outputs(self) -> list[OutputT]:
        """All outputs of a complete request, in the caller's order."""
        return [self._outputs[position] for position in range(len(self.inputs))]


class BatchItem(NamedTuple, Generic[PreparedT, OutputT]):
    """One input of one request."""

    request: BatchRequest[PreparedT, OutputT]
    position: int

    @property
    def prepared(self) -> PreparedT:
        """The input."""
        return self.request.inputs[self.position]


class BatchQueue(Generic[PreparedT, OutputT]):
    """Requests by priority and age.

    Args:
        limits: Bounds of a batch.
    """

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits
        self._lanes: dict[Priority, OrderedDict[BatchRequest[PreparedT, OutputT], None]] = {
            priority: OrderedDict() for priority in Priority
        }
        self._tokens = dict.fromkeys(Priority, 0)
        self._passed_over = 0

    def __bool__(self) -> bool:
        return any(self._lanes.values())

    def has(self, *priorities: Priority) -> bool:
        """Whether anything waits in these lanes."""
        return any(self._lanes[priority] for priority in priorities)

    def tokens(self, *priorities: Priority) -> int:
        """Tokens that wait in these lanes."""
        return sum(self._tokens[priority] for priority in priorities)

    def add(self, request: BatchRequest[PreparedT, OutputT]) -> None:
        """Puts a request at the end of its lane."""
        self._lanes[request.priority][request] = None
        self._tokens[request.priority] += request.waiting_tokens

    def withdraw(self, request: BatchRequest[PreparedT, OutputT]) -> None:
        """Removes the waiting inputs of a request, if any."""
        if request in self._lanes[request.priority]:
            del self._lanes[request.priority][request]
            self._tokens[request.priority] -= request.waiting_tokens

    def take(
        self, batch_tokens: int, lanes: Sequence[Priority] = tuple(Priority)
    ) -> list[BatchItem[PreparedT, OutputT]]:
        """Takes the next batch: interactive before batch work, older requests first, until an input does not fit.

        That input stays first, so that a long one cannot starve. A large request is spread over several batches.

        Args:
            batch_tokens: Padded tokens of the batch; at least one input is taken.
            lanes: The priorities to take from.
        """
        leader_first = sorted(lanes)
        if self._lanes[Priority.BATCH] and self._passed_over >= self._limits.ageing_batches:
            leader_first.reverse()
        batch: list[BatchItem[PreparedT, OutputT]] = []
        longest = 0
        for priority in leader_first:
            lane = self._lanes[priority]
            rides_along = bool(batch) and priority is Priority.BATCH
            budget = min(batch_tokens, self._limits.ride_along_tokens) if rides_along else batch_tokens
            while lane:
                request = next(iter(lane))
                tokens = request.next_tokens()
                if batch and max(longest, tokens) * (len(batch) + 1) > budget:
                    return self._counted(batch)
                batch.append(request.take())
                longest = max(longest, tokens)
                self._tokens[priority] -= tokens
                if not request.waiting:
                    lane.popitem(last=False)
        return self._counted(batch)

    def _counted(self, batch: list[BatchItem[PreparedT, OutputT]]) -> list[BatchItem[PreparedT, OutputT]]:
        took_batch_work = any(item.request.priority is Priority.BATCH for item in batch)
        waits = bool(self._lanes[Priority.BATCH])
        self._passed_over = self._passed_over + 1 if waits and not took_batch_work else 0
        return batch
