"""The candidates of one search: what each leg says of them, put together into scores and hits (000 §6.3, DESIGN §6)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..values.entities import Entity
from ..values.hits import Hit, HitKind, SearchRequest
from ..values.records import Memory
from .conversation import beside, spoken_by_named, unlike
from .fusion import FusionRecipe, freshness, fused_score, lifted_score, min_max, share_of_best
from .legs import Key, Scores


@dataclass(frozen=True)
class Evidence:
    """What the legs found.

    Args:
        vector: Cosines, for each question that stands in the query; the first one is the query itself.
        keyword: BM25, likewise.
        others: Scores in 0–1 of the legs `exact`, `graph` and `overlap`.
    """

    vector: Sequence[Scores] = ()
    keyword: Sequence[Scores] = ()
    others: Mapping[str, Scores] = field(default_factory=dict)

    def parts(self) -> dict[Key, dict[str, float]]:
        """Each candidate's parts: the normalised scores that enter the formula, and the raw ones beside them.

        A candidate counts for the question that it answers best.
        """
        parts: dict[Key, dict[str, float]] = defaultdict(dict)
        for name, raw_name, scale, questions in (
            ("vector", "cosine", min_max, self.vector),
            ("keyword", "bm25", share_of_best, self.keyword),
        ):
            for scores in questions:
                _raise(parts, raw_name, scores)
                _raise(parts, name, scale(scores))
        for name, scores in self.others.items():
            _raise(parts, "keyword" if name == "overlap" else name, scores)
        return parts

    def best_memories(self, recipe: FusionRecipe) -> list[str]:
        """The best memory for each question that the query is made of; none where it is one question."""
        best = []
        for vector, keyword in list(zip(self.vector, self.keyword, strict=False))[1:]:
            parts = Evidence([vector], [keyword]).parts()
            scores = {key.id: fused_score(own, recipe) for key, own in parts.items() if key.kind is HitKind.MEMORY}
            best += sorted(scores, key=lambda id_: (-scores[id_], id_))[:1]
        return best


class Ranking:
    """Candidates with their parts.

    Args:
        request: What is searched for.
        recipe: How parts become a score.
        evidence: What the legs found.
    """

    def __init__(self, request: SearchRequest, recipe: FusionRecipe, evidence: Evidence) -> None:
        self._request = request
        self._recipe = recipe
        self.parts = evidence.parts()
        self._entities: list[Entity] = []
        self._memories: dict[str, Memory] = {}
        self._previous: dict[str, str] = {}

    def add(self, entities: Iterable[Entity], memories: Iterable[Memory], previous: Mapping[str, str]) -> None:
        """Takes up candidates as the record has them; `previous` is the memory before each in its session."""
        self._entities += entities
        self._memories |= {memory.memory_id: memory for memory in memories}
        self._previous |= previous

    def link(self, linked: Scores) -> list[Key]:
        """Takes up the second step's scores; the candidates that are new by it."""
        new = [key for key in linked if key not in self.parts]
        _raise(self.parts, "linked", linked)
        return new

    def memories(self, ids: Iterable[str]) -> list[Memory]:
        """Those of these memories that are there."""
        return [self._memories[id_] for id_ in ids if id_ in self._memories]

    def memory_scores(self) -> dict[str, float]:
        """The score of each memory, by id; its parts are completed on the way."""
        recipe, request = self._recipe, self._request
        own = {id_: self.parts[Key(HitKind.MEMORY, id_)] for id_ in self._memories}
        for id_, parts in own.items():
            at = self._memories[id_].created_at
            parts["freshness"] = freshness(at, request.now, horizon_hours=recipe.freshness_hours)
        fused = {id_: fused_score(parts, recipe) for id_, parts in own.items()}
        if recipe.beside:
            for id_, score in beside(fused, self._previous).items():
                own[id_]["beside"] = score
        if recipe.speaker:
            for id_ in spoken_by_named(request.query, self._memories.values()):
                own[id_]["speaker"] = 1.0
        return {id_: lifted_score(score, own[id_], recipe) for id_, score in fused.items()}

    def hits(self) -> list[Hit]:
        """The best hits, as many as were asked for."""
        scores = self.memory_scores()
        hits = [self._entity_hit(entity) for entity in self._entities if self._may_surface(entity)]
        hits += [self._memory_hit(memory, scores[id_]) for id_, memory in self._memories.items()]
        return unlike(hits, top_k=self._request.top_k, weight=self._recipe.alike)

    def _may_surface(self, entity: Entity) -> bool:
        """Active ones, even where the index has not heard of it yet; preloaded ones that this user never mentioned are
        found by name only.
        """
        if not entity.is_current:
            return False
        return entity.mention_count > 0 or "exact" in self.parts[Key(HitKind.ENTITY, entity.entity_id)]

    def _entity_hit(self, entity: Entity) -> Hit:
        parts = self.parts[Key(HitKind.ENTITY, entity.entity_id)]
        hours = self._recipe.freshness_hours
        parts["freshness"] = freshness(entity.last_mentioned, self._request.now, horizon_hours=hours)
        return Hit(
            kind=HitKind.ENTITY,
            id=entity.entity_id,
            text=entity.entity_value,
            score=fused_score(parts, self._recipe),
            parts=parts,
            metadata=entity.attributes,
            created_at=entity.first_mentioned,
        )

    def _memory_hit(self, memory: Memory, score: float) -> Hit:
        return Hit(
            kind=HitKind.MEMORY,
            id=memory.memory_id,
            text=memory.text,
            resolved=memory.resolved,
            score=score,
            parts=self.parts[Key(HitKind.MEMORY, memory.memory_id)],
            role=memory.role,
            speaker=memory.speaker,
            session_id=memory.session_id,
            metadata=memory.metadata,
            created_at=memory.created_at,
        )


def _raise(parts: dict[Key, dict[str, float]], name: str, scores: Mapping[Key, float]) -> None:
    for key, score in scores.items():
        parts[key][name] = max(score, parts[key].get(name, score))
