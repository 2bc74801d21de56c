"""Compares and updates stored values, the same in every backend."""

from datetime import UTC, datetime, timedelta
from typing import TypeVar

from memory.ports.jobs import PipelineRun
from memory.ports.stores.repositories import Access
from memory.values.access.identity import ApiKey
from memory.values.entities import Entity, EntityStatus
from memory.values.facts import Fact, FactStatus
from memory.values.records import Memory

AccessedT = TypeVar("AccessedT", Entity, Memory, Fact)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def timestamp_us(time: datetime) -> int:
    """Whole microseconds since 1970: exact, and in the order of the times whatever their time zones."""
    return (time - _EPOCH) // _MICROSECOND


def from_timestamp_us(timestamp: float) -> datetime:
    """The time in UTC of a timestamp; a whole number, which AQL may return as a float."""
    return _EPOCH + int(timestamp) * _MICROSECOND


def with_mention(entity: Entity, at: datetime) -> Entity:
    """The entity after one more mention at this time (000 §5.4)."""
    return entity.model_copy(
        update={
            "first_mentioned": min(entity.first_mentioned, at),
            "last_mentioned": max(entity.last_mentioned, at),
            "mention_count": entity.mention_count + 1,
            "version": entity.version + 1,
        }
    )


def with_status(fact: Fact, status: FactStatus, *, now: datetime) -> Fact:
    """The fact in another status (002 §3.3)."""
    return fact.model_copy(update={"status": status, "updated_at": now})


def with_access(value: AccessedT, access: Access) -> AccessedT:
    """The value after these accesses; its last access never moves back in time."""
    name = "last_accessed_at" if isinstance(value, Memory) else "accessed_at"
    last: datetime | None = getattr(value, name)
    return value.model_copy(
        update={"access_count": value.access_count + access.count, name: max(last or access.at, access.at)}
    )


def stored_key(key: ApiKey) -> str:
    """The JSON of a key without its last use, which is stored beside it."""
    return key.model_dump_json(exclude={"last_used_at"})


def with_last_use(body: str, last_used_us: float | None) -> ApiKey:
    """The key of a stored body, with the time of its last use, if any."""
    used_at = from_timestamp_us(last_used_us) if last_used_us else None
    return ApiKey.model_validate_json(body).model_copy(update={"last_used_at": used_at})


_BESIDE_THE_BODY = {"cancel_requested", "alive_until"}


def stored_run(run: PipelineRun) -> str:
    """The JSON of a run without what is stored beside it."""
    return run.with_masked_error().model_dump_json(exclude=_BESIDE_THE_BODY)


def run_columns(run: PipelineRun) -> dict[str, object]:
    """What runs are found and counted by: state, when it was recorded, and how long it took."""
    return {
        "state": run.state.value,
        "started_us": timestamp_us(run.recorded_at),
        "duration_us": None if run.duration is None else run.duration // _MICROSECOND,
    }


def with_lease(body: str, cancel: object, lease_us: float | None) -> PipelineRun:
    """The run of a stored body, with what is stored beside it."""
    return PipelineRun.model_validate_json(body).model_copy(
        update={
            "cancel_requested": bool(cancel),
            "alive_until": None if lease_us is None else from_timestamp_us(lease_us),
        }
    )


def status_column(entity: Entity) -> str:
    """The status by which lists are filtered: an entity in review is listed with the active ones."""
    return (EntityStatus.ACTIVE if entity.is_current else entity.status).value
