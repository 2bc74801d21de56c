"""Typed memories and the review, built from the settings (001)."""

from collections.abc import Mapping

from memory.governance.accesses import AccessTally
from memory.governance.review import ReviewRules
from memory.governance.review_job import ReviewJob
from memory.jobs.cron import NEVER, Schedule
from memory.language.keywords import KeywordAnalyzer
from memory.ports.stores.coordination import Locks
from memory.ports.stores.generations import VectorSpace
from memory.ports.stores.record import SystemOfRecord
from memory.typed_memories.bands import Bands, FixedBand
from memory.typed_memories.manager import TypedMemoryManager
from memory.typed_memories.rechecking import ConflictRecheck
from models.assets.catalog import get_model

from ..config.settings import AppArgs, ReviewArgs


def make_typed_memory_manager(
    args: AppArgs, *, record: SystemOfRecord, space: VectorSpace, tally: AccessTally
) -> TypedMemoryManager:
    """The manager of typed memories over the stores and the encoder of this process."""
    return TypedMemoryManager(
        record=record,
        encoder=space.encoder,
        index=space.index,
        analyzer=KeywordAnalyzer(),
        tally=tally,
        bands=conflict_bands(args, space.encoder.model_id),
        evidence=get_model(space.encoder.model_id).answer_min_cosine,
        many_valued=frozenset(args.aam.many_valued_types),
        rules=review_rules(args.review),
    )


def make_recheck(args: AppArgs, *, record: SystemOfRecord, space: VectorSpace) -> ConflictRecheck:
    """Finds the conflicts of memories that were stored while index or encoder were away."""
    return ConflictRecheck(
        record=record,
        encoder=space.encoder,
        index=space.index,
        bands=conflict_bands(args, space.encoder.model_id),
        many_valued=frozenset(args.aam.many_valued_types),
    )


def conflict_bands(args: AppArgs, model_id: str) -> Bands:
    """The band of the settings, where one of its bounds is set; else the calibrated bands of the model (001 §3.3)."""
    bounds = {"lower": args.aam.conflict_lower, "upper": args.aam.conflict_upper}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    return FixedBand(**given) if given else get_model(model_id).bands or FixedBand()


def make_review_job(args: AppArgs, *, record: SystemOfRecord, locks: Locks) -> ReviewJob:
    """The review on its schedule.

    Raises:
        InvalidField: The schedule or its time zone is not valid.
    """
    when = args.review.schedule
    schedule = None if when == NEVER else Schedule.parse(when, timezone=args.review.timezone)
    return ReviewJob(record=record, locks=locks, rules=review_rules(args.review), schedule=schedule)


def review_rules(settings: ReviewArgs) -> ReviewRules:
    """The thresholds of the settings."""
    return ReviewRules.model_validate({name: getattr(settings, name) for name in ReviewRules.model_fields})


def tally_figures(tally: AccessTally) -> Mapping[str, float | str]:
    """For `/health/detailed`."""
    return {"accesses_waiting": tally.pending, "accesses_dropped": tally.dropped}
