"""Search requests and results."""

from enum import StrEnum

from pydantic import Field

from .base import Scalar, SessionId, Timestamp, UserId, Value
from .entities import EntityType
from .facts import Validity
from .text import has_han
from .understanding.dialogue import Role
from .understanding.mentions import EntitySubtype

MAX_TOP_K = 100


class HitKind(StrEnum):
    """The kind of a hit."""

    ENTITY = "entity"
    MEMORY = "memory"
    KNOWLEDGE = "knowledge"

    @property
    def is_quotable(self) -> bool:
        """Whether it is a text that can answer a question: a memory, or a chunk of a document."""
        return self is not HitKind.ENTITY


class SearchFilter(Value):
    """Conditions on the memories in the result; all given conditions must hold.

    `metadata` compares for equality (a list means: any of these). Entities carry none of these fields, so a search
    with a filter returns memories only.
    """

    session_id: SessionId | None = None
    role: Role | None = None
    created_from: Timestamp | None = None
    created_to: Timestamp | None = None
    metadata: dict[str, Scalar | list[Scalar]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether the filter lets everything through."""
        return self == SearchFilter()


class SearchRequest(Value):
    """A search in one user's memory.

    `entity_type` finds entities of this type or subtype only (000 §6.4). `asks` says whether the query is to be read as
    a question; None where its form is to tell. `overview` says that it asks for all that is known of what it names, or
    of the user. `corpus_ids` are corpora of the user's app that may answer a question beside memory; only a retriever
    that knows corpora searches them. `with_expired` finds memories whose last day is over, too.
    """

    query: str
    user_id: UserId
    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K)
    kinds: tuple[HitKind, ...] = (HitKind.ENTITY, HitKind.MEMORY)
    filters: SearchFilter = SearchFilter()
    entity_type: EntityType | EntitySubtype | None = None
    asks: bool | None = None
    overview: bool = False
    corpus_ids: tuple[str, ...] = ()
    with_expired: bool = False
    now: Timestamp


class Place(Value):
    """Where a chunk of a document stands.

    `headings` are those that it stands under, the outermost first; `page` counts from 1, and is None where the document
    has no pages.
    """

    corpus_id: str
    corpus: str
    source_uri: str
    title: str = ""
    page: int | None = None
    headings: tuple[str, ...] = ()


class Hit(Value):
    """An entity or memory that a search found, or a chunk of a document, with its score.

    `score` is the fused score in 0–1 (000 §6.3) with the boosts of the conversation (DESIGN §6). `parts` holds the
    parts of the score: `vector`, `keyword`, `exact`, `freshness` (each 0–1, as they entered the formula), `confidence`
    of an entity, `named` where the query names another entity in full (its score, by which this one was multiplied),
    `beside`, `speaker`, `linked` and `alike` where they counted, and the raw `cosine` and `bm25` of those legs. Of a
    memory that was read together with a question, `answers` is the probability that it is the answer or part of it,
    `outdated` that it holds no longer (both 0–1), `replaced` is 1 where what replaced it answers, `fused` the score
    without them, and `words` are those of `resolved`, else `text`, that answer; empty where it answers by its date
    alone, None where it was not read. Among its parts `words` is the probability of these words, if it answers, and
    `overview` is 1 where it is part of all that is known of someone or something. `resolved` is the text of a memory
    with its references resolved, where that differs (`Memory.resolved`). `validity` says of the facts that a memory
    states how they stand at the time that the query asks about; empty where none was found in it. `only_asks` says that
    it was read as a mere question. `instead_of` is the text of the memory that matched where this one took its place:
    it states what holds instead, or as well, and `score` and `parts` are those of the match. `is_replaced` says that
    something said later, which is among the hits where it was not left out, was read as taking its place. `place` says
    where a chunk of a document stands, whose `text` is the part that is nearest to the query. `cosine` is raised where
    the text is in another language than the query (DESIGN §6).
    """

    kind: HitKind
    id: str
    text: str
    resolved: str | None = None
    score: float
    parts: dict[str, float]
    role: Role | None = None
    speaker: str | None = None
    session_id: str | None = None
    metadata: dict[str, Scalar] = {}
    validity: tuple[Validity, ...] = ()
    only_asks: bool = False
    instead_of: str | None = None
    is_replaced: bool = False
    words: str | None = None
    place: Place | None = None
    created_at: Timestamp

    @property
    def meant(self) -> str:
        """The text with its references resolved."""
        return self.resolved or self.text

    @property
    def is_part_of_overview(self) -> bool:
        """Whether it was found as a part of all that is known of someone or something."""
        return "overview" in self.parts

    @property
    def shares_words(self) -> bool:
        """Whether it has words of the query; without, it may only be the nearest of what is far away."""
        return any(self.parts.get(name, 0.0) > 0 for name in ("exact", "keyword", "bm25"))


class QuestionResult(Value):
    """What was found for one question, with the calibrated probability that no memory answers it, 0 to 1."""

    question: str
    hits: tuple[Hit, ...] = ()
    unanswered: float = 1.0


class SearchResult(Value):
    """Hits, best first. `degraded` names the legs that could not answer; the others still did (DESIGN §7).

    `unanswered` is the calibrated probability that no memory answers, 0 to 1; None where the query was not read as a
    question. `questions` are those of a query that holds several, in order; then each hit is as the one says that it
    answers most surely, and `unanswered` is that of the surest.
    """

    hits: tuple[Hit, ...] = ()
    unanswered: float | None = None
    questions: tuple[QuestionResult, ...] = ()
    degraded: tuple[str, ...] = ()


class CosineBounds(Value):
    """The cosines from which a memory counts as evidence for a question, for one encoder (DESIGN §6).

    `chinese` is for texts with Han characters, `other` for the rest; None where the encoder does not support the
    language or the bound was not measured, so that no cosine counts.
    """

    chinese: float | None = Field(default=None, ge=-1.0, le=1.0)
    other: float | None = Field(default=None, ge=-1.0, le=1.0)

    def are_met(self, cosine: float, *texts: str) -> bool:
        """Whether a cosine of these texts reaches the bound."""
        bound = self.bound(*texts)
        return bound is not None and cosine >= bound

    def bound(self, *texts: str) -> float | None:
        """The bound for these texts; None where there is none for their language."""
        return self.chinese if any(map(has_han, texts)) else self.other
