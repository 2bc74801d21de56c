"""The versions of a corpus' graph: building, activating, rolling back, and writing corrections back (004 §8, §11.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from pydantic import JsonValue

from ...jobs.runs import recorded_run
from ...ports.stores.record import SystemOfRecord, UnitOfWork
from ...values.access.identity import app_owner
from ...values.base import utc_now
from ...values.documents.corpora import Corpus
from ...values.documents.graphs import (
    BY_HAND,
    CO_OCCURS,
    FULL_STRENGTH,
    Finder,
    GraphExtraction,
    GraphLink,
    GraphMention,
    GraphState,
    GraphVersion,
)
from ...values.errors import InvalidField, KnowledgeNotFound, VersionConflict
from ...values.ids import graph_edge_id, graph_node_id, new_id
from ...values.text import normalise
from ...values.understanding.mentions import EntitySubtype
from ..corpora import get_corpus

WRITE_BACK = "knowledge_graph_write_back"
MAX_REMOVED = 10_000
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class NodeEdit:
    """A node that a person adds, or one whose kind they set."""

    name: str
    kind: EntitySubtype | None = None


@dataclass(frozen=True)
class EdgeEdit:
    """An edge that a person adds between two names, which become nodes where they are none; `strength` is 0 to 1."""

    source: str
    target: str
    type: str = CO_OCCURS
    strength: float = 1.0


@dataclass(frozen=True)
class Corrections:
    """What a person has corrected in the version that is shown.

    Args:
        remove: Ids of nodes and edges; later builds leave them out, too.
        restore: Ids that were removed before.
    """

    nodes: Sequence[NodeEdit] = ()
    edges: Sequence[EdgeEdit] = ()
    remove: Sequence[str] = ()
    restore: Sequence[str] = ()


class GraphVersions:
    """The versions of all apps' graphs, each call for one.

    Args:
        record: Stores them.
        now: The clock.
    """

    def __init__(self, record: SystemOfRecord, *, now: Callable[[], datetime] = utc_now) -> None:
        self._record = record
        self._now = now

    async def list(self, corpus_id: str, *, app: str) -> Sequence[GraphVersion]:
        """The versions of a corpus' graph, latest first.

        Raises:
            CorpusNotFound: The app has no such corpus.
        """
        async with self._record.reading(user_id=app_owner(app)) as unit:
            await get_corpus(unit, corpus_id)
            return await unit.knowledge_graph.versions(corpus_id)

    async def activate(
        self, corpus_id: str, version: int, *, app: str, expected_version: int | None = None
    ) -> GraphVersion:
        """Shows a version that is ready.

        Raises:
            CorpusNotFound: The app has no such corpus.
            KnowledgeNotFound: There is no such version that is ready.
            VersionConflict: Another version is shown than is expected.
        """
        async with self._record.writing(user_id=app_owner(app)) as unit:
            await get_corpus(unit, corpus_id)
            known = await unit.knowledge_graph.versions(corpus_id)
            _require_shown(known, expected_version)
            wanted = [each for each in known if each.version == version and each.state is GraphState.READY]
            if not wanted:
                raise KnowledgeNotFound(f"The graph has no version {version} that is ready.")
            shown = await activated(unit, wanted[0])
            await unit.commit()
        _log.info("graph_activated", corpus_id=corpus_id, version=version)
        return shown

    async def roll_back(self, corpus_id: str, *, app: str, expected_version: int | None = None) -> GraphVersion:
        """Shows the version before the one that is shown.

        Raises:
            CorpusNotFound: The app has no such corpus.
            KnowledgeNotFound: None before it is ready.
            VersionConflict: Another version is shown than is expected.
        """
        known = await self.list(corpus_id, app=app)
        shown = _require_shown(known, expected_version)
        ready = [each.version for each in known if each.state is GraphState.READY]
        before = [number for number in ready if shown is None or number < shown.version]
        if not before:
            raise KnowledgeNotFound("The graph has no earlier version that is ready.")
        expected = shown.version if shown else None
        return await self.activate(corpus_id, before[0], app=app, expected_version=expected)

    async def write_back(
        self, corpus_id: str, corrections: Corrections, *, app: str, expected_version: int | None = None
    ) -> GraphVersion:
        """Makes a version with a person's corrections and shows it; a recorded run.

        Raises:
            CorpusNotFound: The app has no such corpus.
            KnowledgeNotFound: No version is shown.
            VersionConflict: Another version is shown than is expected.
            InvalidField: An edge joins a name to itself, or too much is removed.
        """
        given: dict[str, JsonValue] = {
            "corpus_id": corpus_id,
            "nodes": len(corrections.nodes),
            "edges": len(corrections.edges),
            "removed": len(corrections.remove),
            "restored": len(corrections.restore),
        }
        async with recorded_run(self._record.runs, WRITE_BACK, given, app=app, now=self._now) as work:
            async with self._record.writing(user_id=app_owner(app)) as unit:
                corpus = await get_corpus(unit, corpus_id)
                known = await unit.knowledge_graph.versions(corpus_id)
                shown = _require_shown(known, expected_version)
                if shown is None:
                    raise KnowledgeNotFound("The corpus has no graph yet: build one first.")
                written = await self._write(unit, corpus, shown, next_number(known), corrections, work.run.run_id)
                await unit.commit()
            await work.advance(done=1, total=1, output={"version": written.version})
        _log.info("graph_written_back", corpus_id=corpus_id, version=written.version, based_on=shown.version)
        return written

    async def _write(
        self,
        unit: UnitOfWork,
        corpus: Corpus,
        shown: GraphVersion,
        number: int,
        corrections: Corrections,
        run_id: str,
    ) -> GraphVersion:
        members = await unit.knowledge_graph.members(corpus.corpus_id, shown.version)
        extraction = GraphExtraction(
            app=corpus.app, extraction_id=new_id(), corpus_id=corpus.corpus_id, source_id=BY_HAND, version=number
        )
        if corrections.nodes or corrections.edges:
            await unit.knowledge_graph.save(extraction, *_evidence(extraction, corrections))
            members = [*members, extraction.extraction_id]
        await unit.knowledge_graph.add_members(corpus.corpus_id, number, members)
        now = self._now()
        written = shown.model_copy(
            update={
                "version": number,
                "active": False,
                "run_id": run_id,
                "removed": _removed(shown, corrections),
                "created_at": now,
                "ended_at": now,
            }
        )
        nodes, edges = await unit.knowledge_graph.count(written)
        return await activated(unit, written.model_copy(update={"node_count": nodes, "edge_count": edges}))


async def activated(unit: UnitOfWork, version: GraphVersion) -> GraphVersion:
    """Saves a version as the one that is shown, in place of the one before."""
    for other in await unit.knowledge_graph.versions(version.corpus_id):
        if other.active and other.version != version.version:
            await unit.knowledge_graph.save_version(other.model_copy(update={"active": False}))
    shown = version.model_copy(update={"active": True})
    await unit.knowledge_graph.save_version(shown)
    return shown


def next_number(known: Sequence[GraphVersion]) -> int:
    """The number of the next version."""
    return 1 + max((version.version for version in known), default=0)


def _require_shown(known: Sequence[GraphVersion], expected: int | None) -> GraphVersion | None:
    shown = next((version for version in known if version.active), None)
    if expected is not None and expected != (shown.version if shown else None):
        raise VersionConflict(f"The graph shows version {shown.version if shown else None}, and not {expected}.")
    return shown


def _removed(shown: GraphVersion, corrections: Corrections) -> tuple[str, ...]:
    restored = {*corrections.restore}
    removed = tuple(id_ for id_ in dict.fromkeys((*shown.removed, *corrections.remove)) if id_ not in restored)
    if len(removed) > MAX_REMOVED:
        raise InvalidField(
            f"remove: more than {MAX_REMOVED} nodes and edges were taken out",
            field="remove",
            allowed=f"{MAX_REMOVED} of a graph",
        )
    return removed


def _evidence(extraction: GraphExtraction, corrections: Corrections) -> tuple[list[GraphMention], list[GraphLink]]:
    owner, corpus_id = extraction.user_id, extraction.corpus_id
    kinds = {node.name: node.kind for node in corrections.nodes}
    names = dict.fromkeys((*kinds, *(name for edge in corrections.edges for name in (edge.source, edge.target))))
    mentions = [
        GraphMention(
            node_id=graph_node_id(owner, corpus_id, name),
            key=normalise(name),
            name=name,
            kind=kinds.get(name),
            knowledge_id=extraction.extraction_id,
        )
        for name in names
    ]
    return mentions, [_link(extraction, edge) for edge in corrections.edges]


def _link(extraction: GraphExtraction, edge: EdgeEdit) -> GraphLink:
    owner, corpus_id = extraction.user_id, extraction.corpus_id
    source, target = (graph_node_id(owner, corpus_id, name) for name in (edge.source, edge.target))
    if source == target:
        raise InvalidField(
            f"edges: {edge.source!r} and {edge.target!r} are one node", field="edges", allowed="two different names"
        )
    if edge.type == CO_OCCURS:
        source, target = sorted((source, target))
    return GraphLink(
        edge_id=graph_edge_id(owner, corpus_id, source, edge.type, target),
        source_id=source,
        target_id=target,
        type=edge.type,
        strength=max(1, round(FULL_STRENGTH * edge.strength)),
        by=Finder.HAND,
        knowledge_id=extraction.extraction_id,
    )
