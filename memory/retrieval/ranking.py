"""Ranks the candidates of one search by the scores of all search legs (000 §6.3, DESIGN §6)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..values.entities import Entity
from ..values.hits import Hit, HitKind, SearchRequest
from ..values.records import Memory
from .conversation import diversify, neighbour_scores, with_named_speaker
from .fusion import FusionRecipe, boosted_score, freshness, fused_score, min_max, share_of_best
from .legs import Key, Scores


@dataclass(frozen=True)
class Evidence:
    """The scores of all search legs.

    Args:
        vector: Cosines for each question of the query; the first question is the whole query.
        keyword: BM25 scores for the same questions.
        others: Scores in 0–1 of the legs `exact`, `graph` and `overlap`.
    """

    vector: Sequence[Scores] = ()
    keyword: Sequence[Scores] = ()
    others: Mapping[str, Scores] = field(default_factory=dict)

    def parts(self) -> dict[Key, dict[str, float]]:
        """The score parts of each candidate: normalised scores for the formula, and the raw scores `cosine` and `bm25`.

        Of several questions, a candidate keeps the best score.
        """
        parts: dict[Key, dict[str, float]] = defaultdict(dict)
        for name, raw_name, scale, questions in (
            ("vector", "cosine", min_max, self.vector),
            ("keyword", "bm25", share_of_best, self.keyword),
        ):
            for scores in questions:
                _keep_best(parts, raw_name, scores)
                _keep_best(parts, name, scale(scores))
        for name, scores in self.others.items():
            _keep_best(parts, "keyword" if name == "overlap" else name, scores)
        return parts

    def best_memories(self, recipe: FusionRecipe) -> list[str]:
        """The best memory for each question of the query; empty where the query is a single question."""
        best = []
        for vector, keyword in list(zip(self.vector, self.keyword, strict=False))[1:]:
            parts = Evidence([vector], [keyword]).parts()
            scores = {key.id: fused_score(part, recipe) for key, part in parts.items() if key.kind is HitKind.MEMORY}
            best += sorted(scores, key=lambda id_: (-scores[id_], id_))[:1]
        return best


class Ranking:
    """The candidates of one search, with the parts of their scores.

    Args:
        request: The search.
        recipe: Weights and boosts of the parts.
        evidence: The scores of the legs.
    """

    def __init__(self, request: SearchRequest, recipe: FusionRecipe, evidence: Evidence) -> None:
        self._request = request
        self._recipe = recipe
        self.parts = evidence.parts()
        self._entities: list[Entity] = []
        self._memories: dict[str, Memory] = {}
        self._previous: dict[str, str] = {}

    def add(self, entities: Iterable[Entity], memories: Iterable[Memory], previous: Mapping[str, str]) -> None:
        """Adds candidates from the record; `previous` maps the id of a memory to that before it in its session."""
        self._entities += entities
        self._memories |= {memory.memory_id: memory for memory in memories}
        self._previous |= previous

    def add_links(self, linked: Scores) -> list[Key]:
        """Adds the scores of memories linked to the first candidates; returns the candidates that are new."""
        new = [key for key in linked if key not in self.parts]
        _keep_best(self.parts, "linked", linked)
        return new

    def get_memories(self, ids: Iterable[str]) -> list[Memory]:
        """The memories with these ids that are candidates."""
        return [self._memories[id_] for id_ in ids if id_ in self._memories]

    def memory_scores(self) -> dict[str, float]:
        """The score of each memory by id; completes the memories' parts."""
        recipe, request = self._recipe, self._request
        parts_by_id = {id_: self.parts[Key(HitKind.MEMORY, id_)] for id_ in self._memories}
        for id_, parts in parts_by_id.items():
            created_at = self._memories[id_].created_at
            parts["freshness"] = freshness(created_at, request.now, horizon_hours=recipe.freshness_hours)
        fused = {id_: fused_score(parts, recipe) for id_, parts in parts_by_id.items()}
        if recipe.beside:
            for id_, score in neighbour_scores(fused, self._previous).items():
                parts_by_id[id_]["beside"] = score
        if recipe.speaker:
            for id_ in with_named_speaker(request.query, self._memories.values()):
                parts_by_id[id_]["speaker"] = 1.0
        return {id_: boosted_score(score, parts_by_id[id_], recipe) for id_, score in fused.items()}

    def hits(self) -> list[Hit]:
        """The `top_k` best hits."""
        scores = self.memory_scores()
        hits = _named_first([self._entity_hit(entity) for entity in self._entities if self._is_visible(entity)])
        hits += [
            memory_hit(memory, scores[id_], self.parts[Key(HitKind.MEMORY, id_)])
            for id_, memory in self._memories.items()
        ]
        return diversify(hits, top_k=self._request.top_k, weight=self._recipe.alike)

    def _is_visible(self, entity: Entity) -> bool:
        """False for archived entities, for those of another type than is wanted, and for preloaded ones that were never
        mentioned and are not in the query.
        """
        if not entity.is_current or not entity.is_of(self._request.entity_type):
            return False
        return not entity.is_unseen_seed or "exact" in self.parts[Key(HitKind.ENTITY, entity.entity_id)]

    def _entity_hit(self, entity: Entity) -> Hit:
        recipe = self._recipe
        parts = dict(self.parts[Key(HitKind.ENTITY, entity.entity_id)])
        parts["freshness"] = freshness(entity.last_mentioned, self._request.now, horizon_hours=recipe.freshness_hours)
        parts["confidence"] = entity.confidence
        if "keyword" in parts and "exact" not in parts:
            parts["keyword"] *= recipe.partial_name
        return Hit(
            kind=HitKind.ENTITY,
            id=entity.entity_id,
            text=entity.entity_value,
            score=fused_score(parts, recipe) * (1.0 - recipe.confidence * (1.0 - entity.confidence)),
            parts=parts,
            metadata=entity.attributes,
            created_at=entity.first_mentioned,
        )


def memory_hit(memory: Memory, score: float, parts: Mapping[str, float]) -> Hit:
    """A memory as a hit with this score and its parts."""
    return Hit(
        kind=HitKind.MEMORY,
        id=memory.memory_id,
        text=memory.text,
        resolved=memory.resolved,
        score=score,
        parts=dict(parts),
        role=memory.role,
        speaker=memory.speaker,
        session_id=memory.session_id,
        metadata=memory.metadata,
        created_at=memory.created_at,
    )


def _named_first(hits: Sequence[Hit]) -> list[Hit]:
    """The hits of entities; those that the query names in full rank above all others (000 §6.1)."""
    named = [hit.score for hit in hits if "exact" in hit.parts]
    if not named:
        return list(hits)
    least = min(named)
    return [
        hit
        if "exact" in hit.parts
        else hit.model_copy(update={"score": hit.score * least, "parts": {**hit.parts, "named": least}})
        for hit in hits
    ]


def _keep_best(parts: dict[Key, dict[str, float]], name: str, scores: Mapping[Key, float]) -> None:
    for key, score in scores.items():
        parts[key][name] = max(score, parts[key].get(name, score))
