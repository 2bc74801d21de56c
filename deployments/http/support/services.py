"""The services that routes call, and the components that the operations routes check."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Protocol

from fastapi import Depends, Request
from typing_extensions import override

from memory.chat.additions import MemoryAdditions
from memory.chat.entity_memory import EntityMemoryService
from memory.chat.reader import MessageReader
from memory.chat.turn import ChatTurn
from memory.dialogue.memory_system import MemorySystem
from memory.dialogue.personas import PersonaMemory
from memory.entities.editor import EntityEditor
from memory.erasure.guard import ErasureGuard
from memory.governance.accesses import AccessTally
from memory.identity.caller import ANONYMOUS
from memory.indexing.generations import PerSpace
from memory.items.store import ItemStore
from memory.knowledge.base import KnowledgeBase
from memory.knowledge.graph.graphs import KnowledgeGraphs
from memory.ports.decisions import DecisionService
from memory.ports.erasures import ErasureService
from memory.ports.jobs import IndexMaintenance, MaintenanceService, ReviewService, RunControl, RunTotal
from memory.ports.models.language import (
    Extractor,
    FactReader,
    FloatMatrix,
    Priority,
    Reranker,
    Resolver,
    TextKind,
    TokenCounter,
)
from memory.ports.models.summaries import SummaryWriter
from memory.ports.services import Retriever
from memory.ports.stores.coordination import RateLimiter
from memory.ports.stores.generations import ReembeddingService
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.sessions import SessionStore
from memory.tiers.context import ContextBuilder
from memory.tiers.fact_search import FactSearch
from memory.tiers.priority import PriorityRules
from memory.tiers.retrieval import TieredRetrieval
from memory.tiers.summaries import ExtractiveWriter
from memory.typed_memories.manager import TypedMemoryManager
from memory.values.access.identity import app_and_user, credential_subject
from memory.values.documents.corpora import Reranking
from memory.values.errors import StoreUnavailable, Unavailable
from memory.values.evidence import EVIDENCE_BOUNDS, EvidenceBounds
from memory.values.hits import CosineBounds
from memory.values.personas import PersonaProfile

from ...remote.chat_upstream import ChatUpstreams
from ...telemetry.metrics import ServiceMetrics
from ...telemetry.replicas import Figures, IngressReport, ReplicaReport, ask_all, replica_name
from ..identity.authentication import Authenticator
from ..identity.current import CURRENT_IDENTITY
from .assistants import Assistant, PromptBounds
from .concurrency import Places
from .transfers import Transfers

if TYPE_CHECKING:
    from memory.dialogue.graph import DialogueGraph

_FOLLOWERS = 64


class Embed(Protocol):
    """Encodes texts and counts their tokens."""

    async def __call__(self, texts: Sequence[str], *, kind: TextKind, priority: Priority) -> tuple[FloatMatrix, int]:
        """Returns an array of shape (texts, dimension) and the number of tokens."""
        ...


@dataclass(frozen=True)
class Embedding:
    """The live model, as `/v1/embeddings` serves it.

    Args:
        model_ids: Names that a request may use; the first one is returned in replies.
        dimension: Length of a vector.
        embed: Encodes texts.
    """

    model_ids: tuple[str, ...]
    dimension: int
    embed: Embed


class EmbeddingTokens(TokenCounter):
    """Counts tokens as the live embedding model reads them, line by line, so that none is cut off.

    Args:
        embeddings: The models.
    """

    def __init__(self, embeddings: PerSpace[Embedding]) -> None:
        self._embeddings = embeddings

    @override
    async def count(self, texts: Sequence[str]) -> list[int]:
        embed = (await self._embeddings.current()).embed
        counts = []
        for text in texts:
            _, tokens = await embed(text.splitlines(), kind=TextKind.PASSAGE, priority=Priority.INTERACTIVE)
            counts.append(tokens)
        return counts


Probe = Callable[[], Awaitable[Figures]]
"""A health check: returns the figures of a store, or raises `Unavailable`."""


@dataclass(frozen=True)
class Services:
    """Everything that the routes call: built when the app starts, shared by all requests.

    Args:
        typed_memories: A manager for each embedding model, with that model's encoder, index and bands.
        fact_search: A search of facts for each embedding model.
        embeddings: The `/v1/embeddings` model for each embedding model.
        cosine_bounds: From which cosines of each embedding model on an entity belongs into a prompt.
        evidence: From which probability on that it answers a memory belongs into a prompt.
        authenticator: Says who asks.
        guard: Knows the users who are being erased.
        forget: Drops what this replica holds of a user.
        probes: A health check for each store.
        parts: The deployments behind the ingress: each returns a report of every replica, or raises `Unavailable`.
        ingress_reports: Returns a report of every ingress replica; None where there is only this one.
        required: Stores and deployments without which the service is not ready.
        runs: Retries and cancels runs of background work.
        followers: Places of those who follow a run.
        transfers: Files of exports and imports in progress.
        tally: Counts what answers and prompts held.
        upstreams: Language models that continue conversations; None where there is none.
        prompt_bounds: How long the prompts of those may be.
        assistants: What else continues conversations, by the name of its model.
        rerankers: Those that the settings turn on.
        priority_rules: How categories of facts are ranked.
        summary_writer: Writes the summaries of `/summarize`.
        corpora_in_chat: By app, ids of the corpora that chat searches where a request names none.
        fact_reader: Reads the facts of `/extract` in place of the extractor; None where nothing else does.
        given_personas: Those of the settings.
        make_dialogue: Makes the dialogue graph over its memory and the record; None without the extra `langgraph`.
    """

    chat: ChatTurn
    additions: MemoryAdditions
    record: SystemOfRecord
    sessions: SessionStore
    limiter: RateLimiter | None
    key_limiter: RateLimiter | None
    extractor: Extractor
    resolver: Resolver
    retriever: Retriever
    index: IndexMaintenance
    typed_memories: PerSpace[TypedMemoryManager]
    reviews: ReviewService
    fact_jobs: MaintenanceService
    runs: RunControl
    fact_search: PerSpace[FactSearch]
    tally: AccessTally
    knowledge: KnowledgeBase
    items: ItemStore
    graphs: KnowledgeGraphs
    reembedding: ReembeddingService
    embeddings: PerSpace[Embedding]
    cosine_bounds: PerSpace[CosineBounds]
    erasures: ErasureService
    decisions: DecisionService
    guard: ErasureGuard
    forget: Callable[[str], Awaitable[None]]
    metrics: ServiceMetrics
    authenticator: Authenticator
    probes: Mapping[str, Probe] = field(default_factory=dict)
    parts: Mapping[str, Callable[[], Awaitable[Sequence[ReplicaReport]]]] = field(default_factory=dict)
    ingress_reports: Callable[[], Awaitable[Sequence[IngressReport]]] | None = None
    required: frozenset[str] = frozenset()
    followers: Places = field(default_factory=lambda: Places(_FOLLOWERS))
    transfers: Transfers = field(default_factory=Transfers)
    priority_rules: PriorityRules = field(default_factory=PriorityRules)
    summary_writer: SummaryWriter = field(default_factory=ExtractiveWriter)
    fact_reader: FactReader | None = None
    corpora_in_chat: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    evidence: EvidenceBounds = EVIDENCE_BOUNDS
    given_personas: tuple[PersonaProfile, ...] = ()
    make_dialogue: "Callable[[MemorySystem, SystemOfRecord], DialogueGraph] | None" = None
    upstreams: ChatUpstreams | None = None
    prompt_bounds: PromptBounds = field(default_factory=PromptBounds)
    assistants: Mapping[str, Assistant] = field(default_factory=dict)
    rerankers: Mapping[Reranking, Reranker] = field(default_factory=dict)

    @cached_property
    def entities(self) -> EntityMemoryService:
        """000 §7.1's service over these parts."""
        return EntityMemoryService(
            record=self.record,
            sessions=self.sessions,
            extractor=self.extractor,
            resolver=self.resolver,
            retriever=self.retriever,
            additions=self.additions,
            cosine_bounds=self.cosine_bounds.current,
            evidence=self.evidence,
            uses=self.tally,
        )

    @cached_property
    def contexts(self) -> ContextBuilder:
        """Says what is known of a user, for prompts (002 §8.1)."""
        tokens = EmbeddingTokens(self.embeddings)
        return ContextBuilder(record=self.record, tally=self.tally, tokens=tokens, rules=self.priority_rules)

    @cached_property
    def tiers(self) -> TieredRetrieval:
        """Retrieves in tiers (002 §4.2)."""
        return TieredRetrieval(
            record=self.record,
            contexts=self.contexts,
            facts=self.fact_search.current,
            retriever=self.retriever,
        )

    @cached_property
    def personas(self) -> PersonaMemory:
        """Who the assistant is for each user (003 §2.1)."""
        return PersonaMemory(record=self.record, given=self.given_personas, embed=self._embed)

    @cached_property
    def dialogue_memory(self) -> MemorySystem:
        """The memory of dialogues (003 §2)."""
        return MemorySystem(
            reader=MessageReader(
                sessions=self.sessions, record=self.record, extractor=self.extractor, resolver=self.resolver
            ),
            extractor=self.extractor,
            retriever=self.retriever,
            additions=self.additions,
            personas=self.personas,
            uses=self.tally,
            jobs=self.fact_jobs,
            cosines=self.cosine_bounds.current,
            evidence=self.evidence,
        )

    @cached_property
    def dialogue(self) -> "DialogueGraph | None":
        """The dialogue graph (003 §3); None without the extra `langgraph`."""
        return None if self.make_dialogue is None else self.make_dialogue(self.dialogue_memory, self.record)

    @cached_property
    def editor(self) -> EntityEditor:
        """Edits entities and relations; the learner is notified of each change."""
        return EntityEditor(record=self.record, on_change=lambda user_id: self.additions.notify(user_id=user_id))

    async def chat_corpora(self, named: tuple[str, ...] | None, *, user_id: str) -> tuple[str, ...]:
        """The corpora that a user's chat searches: those that the request names, else those set for the user's app.

        Raises:
            CorpusNotFound: The user's app has no such corpus.
        """
        app, _ = app_and_user(user_id)
        if named is None:
            return self.corpora_in_chat.get(app, ())
        for corpus_id in named:
            await self.knowledge.corpora.get(corpus_id, app=app)
        return tuple(dict.fromkeys(named))

    async def count_request(self, user_id: str | None = None) -> None:
        """Counts a request against the rate limits of its key, where that is not of one user, and of its user.

        Requests that name no user count as those of their credential.

        Raises:
            Overloaded: There were too many requests; `retry_after_s` says when to try again.
        """
        identity = CURRENT_IDENTITY.get()
        caller = identity.caller
        if self.key_limiter is not None and caller is not ANONYMOUS and caller.user is None:
            await self.key_limiter.take(user_id=credential_subject(f"{caller.credential} for all users"))
        if self.limiter is not None:
            await self.limiter.take(user_id=user_id or identity.user() or caller.subject)

    async def report(self) -> IngressReport:
        """The metrics of this ingress replica, and the figures of the stores as it sees them."""
        stores = await ask_all(self.probes)
        answers = {name: None if isinstance(figures, Unavailable) else figures for name, figures in stores.items()}
        return IngressReport(replica_name(), self.metrics.collect(), answers, await self._run_totals())

    async def _run_totals(self) -> Sequence[RunTotal]:
        try:
            return await self.record.runs.totals(app=None)
        except StoreUnavailable:
            return ()

    async def ingress(self) -> Sequence[IngressReport]:
        """A report of every ingress replica.

        Raises:
            Unavailable: The replicas do not answer.
        """
        return [await self.report()] if self.ingress_reports is None else await self.ingress_reports()

    async def _embed(self, texts: Sequence[str], kind: TextKind) -> FloatMatrix:
        embed = (await self.embeddings.current()).embed
        vectors, _ = await embed(texts, kind=kind, priority=Priority.INTERACTIVE)
        return vectors

    def count_degraded(self, parts: Sequence[str]) -> None:
        """Counts a reply that was made without these components."""
        for part in parts:
            self.metrics.degraded.labels(part).inc()


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(_services)]
"""Route parameter: the app's services."""
