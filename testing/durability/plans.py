"""What one run does: a sequence of writes for each user, and how it is ended."""

from dataclasses import dataclass
from enum import StrEnum


class Op(StrEnum):
    """One write of a sequence; each is acknowledged once, when all of it is durable."""

    APPEND = "append"
    """Entries of the raw log."""
    ENTITIES = "entities"
    """New entities."""
    MEMORIES = "memories"
    """New memories."""
    FACTS = "facts"
    """New facts."""
    RELATE = "relate"
    """New entities and the relations between them, in one unit."""
    LEARN = "learn"
    """Writes of the learner in one unit: entries leave the backlog, an entity gains a mention, memories are saved."""
    INDEX = "index"
    """Work of the indexer: read the outbox, upsert, acknowledge."""


class Death(StrEnum):
    """How a run is ended."""

    ALL = "all"
    """The one process that owns record and index is killed."""
    BIRTH = "birth"
    """The same, with files that do not exist before: it may die while it creates them."""
    INDEX = "index"
    """The process that owns the index is killed; the one that owns the record goes on."""
    POWER = "power"
    """The process is killed, and the last bytes of both write-ahead logs are gone."""


@dataclass(frozen=True)
class Step:
    """One write.

    Args:
        op: What it does.
        items: How many items it holds.
        padding: How many characters longer than usual each text is: long ones fill SQLite's log until it is moved into
            the file.
    """

    op: Op
    items: int
    padding: int = 0


@dataclass(frozen=True)
class Plan:
    """One run.

    Args:
        death: What ends it.
        sequences: The writes of each user, who write at the same time.
        kill_after: How many acknowledgements are awaited before the kill; more than there are: when all is done.
        jitter_us: How long after that, in microseconds.
        flush_interval_s: How long the index may wait until it flushes: short, so that it dies in a flush, or longer
            than the run.
        torn_record, torn_index: Bytes that a power cut takes off the end of each write-ahead log.
    """

    death: Death
    sequences: tuple[tuple[Step, ...], ...]
    kill_after: int
    jitter_us: int
    flush_interval_s: float = 5.0
    torn_record: int = 0
    torn_index: int = 0

    @property
    def has_index(self) -> bool:
        """Whether it writes to an index at all; it is slow to open."""
        return any(step.op is Op.INDEX for sequence in self.sequences for step in sequence)


@dataclass(frozen=True)
class Verdict:
    """What a run did.

    Attributes:
        acknowledged: Writes that were acknowledged.
        refused: Writes that were refused because the index was dead.
        in_flight: The operation of each user whose write had begun and was not acknowledged.
        kept: How many of these are there, whole.
        lost: Acknowledged rows of the record that are missing.
        doubled: Rows that are there more often than they were written.
        torn: Users with a part of the write in flight, or with anything else that nobody wrote.
        points_lost: Acknowledged points that the index did not have when it was opened again.
        points_wrong: Points that are missing, stale or too many once the outbox is drained.
        error: What went wrong while reopening; empty where nothing did.
    """

    acknowledged: int
    refused: int = 0
    in_flight: tuple[Op, ...] = ()
    kept: int = 0
    lost: int = 0
    doubled: int = 0
    torn: int = 0
    points_lost: int = 0
    points_wrong: int = 0
    error: str = ""

    def is_sound(self, death: Death) -> bool:
        """Whether all that is promised held; a power cut may take what no flush or sync had finished."""
        whole = not (self.doubled or self.torn or self.points_wrong or self.error)
        return whole and (death is Death.POWER or not (self.lost or self.points_lost))
