"""The strategies by name, and what a strategy makes of a chunk: mentions and links of a graph (004 §8)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...ports.models.language import Extractor
from ...ports.stores.graphs import EntityExtractor, RelationExtractor
from ...values.documents.corpora import Knowledge, Span
from ...values.documents.graphs import ALIAS, CO_OCCURS, FULL_STRENGTH, FoundRelation, GraphLink, GraphMention
from ...values.ids import graph_edge_id, graph_node_id
from ...values.text import normalise
from ...values.understanding.mentions import Mention
from .entities import PatternEntities, ReaderEntities
from .relations import Cooccurrence, StatedRelations


class StrategyName(StrEnum):
    """What extracts a graph: patterns alone, the trained reader, or the language model of the settings."""

    PATTERNS = "patterns"
    READER = "reader"
    MODEL = "model"


@dataclass(frozen=True)
class ChunkGraph:
    """What was extracted of a chunk."""

    mentions: list[GraphMention]
    links: list[GraphLink]


@dataclass(frozen=True)
class Strategy:
    """An extractor of names, and extractors of the relations between them.

    Args:
        relations: All are used; of one pair and type the strongest relation counts.
    """

    entities: EntityExtractor
    relations: Sequence[RelationExtractor]

    @property
    def version(self) -> str:
        """Which code and weights it is."""
        return "/".join((self.entities.version, *(extractor.version for extractor in self.relations)))

    async def extract(self, chunks: Sequence[Knowledge]) -> list[ChunkGraph]:
        """What each chunk gives, without what it repeats of the chunk before.

        Raises:
            Unavailable: A model is away.
            Overloaded: The queue of a model is full.
        """
        texts = [chunk.content for chunk in chunks]
        names = await self.entities.find(texts)
        found: list[list[FoundRelation]] = [[] for _ in texts]
        for extractor in self.relations:
            for relations, more in zip(found, await extractor.find(texts, names), strict=True):
                relations += more
        return [_chunk_graph(*parts) for parts in zip(chunks, names, found, strict=True)]


def builtin_strategies(extractor: Extractor) -> dict[StrategyName, Strategy]:
    """The strategies that need no language model."""
    relations = (StatedRelations(), Cooccurrence())
    return {
        StrategyName.PATTERNS: Strategy(PatternEntities(), relations),
        StrategyName.READER: Strategy(ReaderEntities(extractor), relations),
    }


def _chunk_graph(chunk: Knowledge, names: Sequence[Mention], found: Iterable[FoundRelation]) -> ChunkGraph:
    own = [name for name in names if name.start >= chunk.repeated]
    relations = [relation for relation in found if relation.span.end > chunk.repeated]
    stated = [
        Mention(text=relation.source, start=place, end=place + len(relation.source), confidence=relation.strength)
        for relation in relations
        if relation.type == ALIAS and (place := chunk.content.find(relation.source, chunk.repeated)) >= 0
    ]
    known = {normalise(name.text) for name in own}
    named = [*own, *(alias for alias in stated if normalise(alias.text) not in known)]
    keys = known | {normalise(name.text) for name in named}
    links: dict[str, GraphLink] = {}
    for relation in relations:
        if {normalise(relation.source), normalise(relation.target)} <= keys:
            link = _link(chunk, relation)
            if link.source_id != link.target_id and (
                link.edge_id not in links or links[link.edge_id].strength < link.strength
            ):
                links[link.edge_id] = link
    return ChunkGraph(_mentions(chunk, named), [*links.values()])


def _mentions(chunk: Knowledge, names: Iterable[Mention]) -> list[GraphMention]:
    """One for each node, at the place of the first."""
    by_key: dict[str, list[Mention]] = {}
    for name in names:
        by_key.setdefault(normalise(name.text), []).append(name)
    return [
        GraphMention(
            node_id=graph_node_id(chunk.user_id, chunk.corpus_id, key),
            key=key,
            name=same[0].text,
            kind=next((name.subtype for name in same if name.subtype), None),
            spans=tuple(Span(start=name.start, end=name.end) for name in same),
            confidence=max(name.confidence for name in same),
            knowledge_id=chunk.knowledge_id,
        )
        for key, same in by_key.items()
        if key
    ]


def _link(chunk: Knowledge, relation: FoundRelation) -> GraphLink:
    source, target = (
        graph_node_id(chunk.user_id, chunk.corpus_id, name) for name in (relation.source, relation.target)
    )
    if relation.type == CO_OCCURS:
        source, target = sorted((source, target))
    return GraphLink(
        edge_id=graph_edge_id(chunk.user_id, chunk.corpus_id, source, relation.type, target),
        source_id=source,
        target_id=target,
        type=relation.type,
        strength=max(1, round(FULL_STRENGTH * relation.strength)),
        by=relation.by,
        span=relation.span,
        knowledge_id=chunk.knowledge_id,
    )
