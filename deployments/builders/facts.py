"""The jobs over facts and the ranking of their categories, built from the settings (002)."""

from memory.dialogue.personas import PersonaMemory
from memory.indexing.generations import PerSpace
from memory.jobs.cron import NEVER, Schedule
from memory.language.keywords import KeywordAnalyzer
from memory.maintenance.decay import MaintenanceRules
from memory.maintenance.fact_jobs import FactJobs, FactMaintenance
from memory.maintenance.merging import SimilarFacts
from memory.ports.jobs import MaintenanceKind
from memory.ports.models.summaries import SummaryWriter
from memory.ports.stores.coordination import Locks
from memory.ports.stores.generations import VectorSpace, VectorSpaces
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import Collection
from memory.tiers.fact_search import FactSearch
from memory.tiers.priority import PriorityRules
from models.assets.catalog import get_model

from ..config.settings import AppArgs, ContextArgs, FactArgs


def make_fact_jobs(
    args: AppArgs, *, record: SystemOfRecord, locks: Locks, spaces: VectorSpaces, writer: SummaryWriter
) -> FactJobs:
    """The jobs on their schedules.

    Raises:
        InvalidField: A schedule or their time zone is not valid.
    """
    facts = FactMaintenance(
        record=record,
        writer=writer,
        rules=maintenance_rules(args),
        similar=PerSpace(spaces, _similar_facts).current,
        personas=PersonaMemory(record=record).consolidate,
    )
    return FactJobs(facts=facts, locks=locks, schedules=fact_schedules(args.facts))


def make_fact_search(space: VectorSpace, *, record: SystemOfRecord) -> FactSearch:
    """The search of facts with the encoder and the index of a space."""
    part = space.part(Collection.FACTS)
    return FactSearch(record=record, encoder=part.encoder, index=part.index, analyzer=KeywordAnalyzer())


def fact_schedules(settings: FactArgs) -> dict[MaintenanceKind, Schedule | None]:
    """When each job is due; None for one that is done by command alone."""
    texts = {kind: getattr(settings, kind.value) for kind in MaintenanceKind}
    return {
        kind: None if text == NEVER else Schedule.parse(text, timezone=settings.timezone)
        for kind, text in texts.items()
    }


def maintenance_rules(args: AppArgs) -> MaintenanceRules:
    """The thresholds of the settings; the others are not settings."""
    given = args.facts.model_dump(include={*MaintenanceRules.model_fields})
    return MaintenanceRules(**given, usage_window_days=args.context.usage_window_days)


def priority_rules(settings: ContextArgs) -> PriorityRules:
    """The parameters of the settings."""
    return PriorityRules.model_validate(settings.model_dump())


def _similar_facts(space: VectorSpace) -> SimilarFacts | None:
    """None for a model whose cosines were not calibrated: nobody knows which of them is a paraphrase."""
    bands = get_model(space.encoder.model_id).bands
    return None if bands is None else SimilarFacts(encoder=space.encoder, bands=bands)
