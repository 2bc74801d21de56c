"""One score of a chunk from its cosine and its BM25 score (004 §5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from ..language.keywords import KeywordAnalyzer
from ..language.sentences import split_sentences
from ..retrieval.fusion import below_best, share_of_best
from ..values.documents.corpora import Knowledge, SearchConfig
from ..values.vectors import LanguageGroup

Scores = Mapping[str, float]
"""Scores by the id of the chunk."""


@dataclass(frozen=True)
class HybridRecipe:
    """How cosines and BM25 scores become the two parts of a hybrid score, each in 0–1.

    Args:
        across: Share of the gap between languages by which cosines in another language are raised, 0 to 1.
        together: Share of the keyword part that says how much of the query stands close together, 0 to 1.
        read: Number of the best chunks that are read for this.
        sentences: Number of neighbouring sentences that are close together.
        foreign: The least keyword part of a chunk in another language than the query's, which cannot share its words.
    """

    across: float
    together: float
    read: int
    sentences: int
    foreign: float


HYBRID: Final = HybridRecipe(across=0.95, together=0.5, read=20, sentences=2, foreign=0.2)
"""Chosen on the questions about every other article of the sets that docs/benchmarks/knowledge.md reports the rest of;
`across` on all of them."""


@dataclass(frozen=True)
class Fused:
    """A hybrid score and its parts `semantic` and `keyword`, each in 0–1."""

    score: float
    semantic: float
    keyword: float


class HybridFusion:
    """Computes `semantic_weight · semantic + keyword_weight · keyword`.

    - `semantic` is 1 for the best cosine and falls to 0 at one that is `spread` lower. A chunk that words alone found
      counts as the lowest that vectors found.
    - `keyword` compares with the query and not with the best chunk alone, so that a chunk which shares a few words with
      a question that nothing answers in words scores low: the share of the best BM25 score, times the share of the
      query's terms that the best chunk has. Of the best chunks, the share of the query's terms that stand close
      together counts as well (`words_together`): a long passage may have them all, in different places.

    Args:
        analyzer: Splits texts into terms.
        spread: How far below the best cosine one lies that says nothing; None for the lowest that was found.
        recipe: The rest.
    """

    def __init__(
        self, analyzer: KeywordAnalyzer, *, spread: float | None = None, recipe: HybridRecipe = HYBRID
    ) -> None:
        self._analyzer = analyzer
        self._spread = spread
        self._recipe = recipe

    def fuse(
        self, query: str, chunks: Sequence[Knowledge], semantic: Scores, keyword: Scores, config: SearchConfig
    ) -> dict[str, Fused]:
        """The scores of chunks by id.

        Args:
            query: What is searched for.
            chunks: The candidates.
            semantic: Cosines of those that vectors found.
            keyword: BM25 scores of those that words found.
            config: Has the weights.
        """
        by_id = {chunk.knowledge_id: chunk for chunk in chunks}
        cosines = below_best({id_: semantic[id_] for id_ in by_id if id_ in semantic}, spread=self._spread)
        lowest = min(cosines.values(), default=0.0)
        terms = frozenset(self._analyzer.terms(query))
        shares = self._shares(terms, by_id, keyword)
        language = LanguageGroup.of(query)
        foreign = {id_ for id_, chunk in by_id.items() if shares and LanguageGroup.of(chunk.content) != language}

        def fused(id_: str, together: float = 0.0) -> Fused:
            weight = self._recipe.together
            in_words = (1.0 - weight) * shares.get(id_, 0.0) + weight * together
            in_words = max(in_words, self._recipe.foreign) if id_ in foreign else in_words
            meant = cosines.get(id_, lowest)
            score = config.semantic_weight * meant + config.keyword_weight * in_words
            return Fused(score, meant, in_words)

        scores = {id_: fused(id_) for id_ in by_id}
        if shares:
            best = sorted(by_id, key=lambda id_: (-scores[id_].score, id_))[: self._recipe.read]
            together = words_together(
                terms, [by_id[id_] for id_ in best], analyzer=self._analyzer, sentences=self._recipe.sentences
            )
            scores |= {id_: fused(id_, share) for id_, share in zip(best, together, strict=True)}
        return scores

    def _shares(self, terms: frozenset[str], by_id: Mapping[str, Knowledge], keyword: Scores) -> dict[str, float]:
        scores = {id_: keyword[id_] for id_ in by_id if id_ in keyword}
        if not scores:
            return {}
        best = by_id[max(scores, key=lambda id_: (scores[id_], id_))]
        found = terms.intersection(self._analyzer.terms("\n".join((*_heading(best), best.content))))
        return {id_: share * len(found) / len(terms) for id_, share in share_of_best(scores).items()}


def words_together(
    terms: frozenset[str], chunks: Sequence[Knowledge], *, analyzer: KeywordAnalyzer, sentences: int
) -> list[float]:
    """For each chunk the largest share of the terms in so many neighbouring sentences of it, with title and headings.

    A term counts by its inverse document frequency among these chunks: what most of them have decides little.
    """
    held = []
    for chunk in chunks:
        heading = terms.intersection(analyzer.terms("\n".join(_heading(chunk))))
        held.append([heading | terms.intersection(analyzer.terms(text)) for text in split_sentences(chunk.content)])
    wholes = [frozenset[str]().union(*parts) for parts in held]
    weights: dict[str, float] = {}
    for term in terms:
        having = sum(term in whole for whole in wholes)
        weights[term] = log(1.0 + (len(chunks) - having + 0.5) / (having + 0.5))
    total = sum(weights.values())
    shares = []
    for parts in held:
        runs = [frozenset[str]().union(*parts[at : at + sentences]) for at in range(len(parts))]
        shares.append(max((sum(weights[term] for term in run) / total for run in runs), default=0.0))
    return shares


def _heading(chunk: Knowledge) -> tuple[str, ...]:
    return (chunk.title, *chunk.headings)
