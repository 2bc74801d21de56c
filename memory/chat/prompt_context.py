"""What a prompt is told of a user's memory: lines about entities and memories, and which of them belong there."""

from collections.abc import Iterable, Sequence

from ..answering.evidence import choose_for_prompt
from ..answering.nearness import Nearness
from ..answering.quoting import cite
from ..answering.validity import qualified, stated_in
from ..language.keywords import KeywordAnalyzer
from ..language.phrases import ENGLISH, SIMPLIFIED, TRADITIONAL, Phrases
from ..language.written import Language
from ..values.entities import Entity
from ..values.evidence import EvidenceBounds
from ..values.hits import CosineBounds, Hit, SearchResult
from ..values.text import has_han, writes_simplified
from ..values.understanding.dialogue import Role

MAX_CONTEXT = 2000
"""Characters of the lines about entities in a prompt, of those about memories and of those from documents, as 002 §4.3
bounds its context.
"""
MAX_NAME_IN_PROMPT = 80
MAX_MEMORY_IN_PROMPT = 300
_PHRASES = {
    Language.TRADITIONAL_CHINESE: TRADITIONAL,
    Language.SIMPLIFIED_CHINESE: SIMPLIFIED,
    Language.ENGLISH: ENGLISH,
}
_ENTITIES = {
    Language.TRADITIONAL_CHINESE: ("用戶提到的相關實體：", "最近提及"),
    Language.SIMPLIFIED_CHINESE: ("用户提到的相关实体：", "最近提及"),
    Language.ENGLISH: ("Entities that the user mentioned:", "last mentioned"),
}
_MEMORIES = {
    Language.TRADITIONAL_CHINESE: ("記憶中與這個問題有關的內容：", "用戶", "助理"),
    Language.SIMPLIFIED_CHINESE: ("记忆中与这个问题有关的内容：", "用户", "助理"),
    Language.ENGLISH: ("What memory holds about this question:", "user", "assistant"),
}
_DOCUMENTS = {
    Language.TRADITIONAL_CHINESE: "文件中與這個問題有關的內容：",
    Language.SIMPLIFIED_CHINESE: "文件中与这个问题有关的内容：",
    Language.ENGLISH: "What documents say about this question:",
}


def is_related(hit: Hit, query: str, bounds: CosineBounds) -> bool:
    """Whether a hit has evidence of its own that it concerns the query: every search has a nearest entity."""
    return hit.shares_words or bounds.are_met(hit.parts.get("cosine", 0.0), query, hit.text)


def prompt_memories(
    query: str, result: SearchResult, *, evidence: EvidenceBounds, cosines: CosineBounds
) -> tuple[Hit, ...]:
    """The memories that help to answer a question, best first; by their nearness where nobody has read them."""
    if result.unanswered is None:
        nearness = Nearness(analyzer=KeywordAnalyzer(), min_cosine=cosines)
        return tuple(hit for hit, _ in nearness.choose(query, result.hits))
    return tuple(choose_for_prompt(result.hits, evidence))


def context_lines(entities: Sequence[Entity], query: str) -> str:
    """A line for each entity with the time of its last mention, in the query's language and script (000 §8.4).

    Han text that is valid in both scripts counts as Traditional. Names are written in one line and cut to
    `MAX_NAME_IN_PROMPT` characters, since they are text of users and not instructions; lines that would make it longer
    than `MAX_CONTEXT` characters are left out.
    """
    head, last = _ENTITIES[_language_of(query)]
    return _listed(
        head,
        (
            f"{_in_one_line(entity.entity_value, MAX_NAME_IN_PROMPT)} ({last}: {entity.last_mentioned:%Y-%m-%d %H:%M})"
            for entity in entities
        ),
    )


def memory_lines(memories: Sequence[Hit], query: str) -> str:
    """A line for each memory with its date and speaker, and whether it may hold no longer; as `context_lines`."""
    language = _language_of(query)
    return _listed(_MEMORIES[language][0], (memory_line(hit, language) for hit in memories))


def memory_line(hit: Hit, language: Language) -> str:
    """A memory in one line with its date and speaker, and whether it may hold no longer."""
    _, user, assistant = _MEMORIES[language]
    by_role = {Role.USER: user, Role.ASSISTANT: assistant, None: user}
    speaker = _in_one_line(hit.speaker, MAX_NAME_IN_PROMPT) if hit.speaker else by_role[hit.role]
    return f"{hit.created_at:%Y-%m-%d} ({speaker}): {_told(hit, _PHRASES[language])}"


def document_lines(chunks: Sequence[Hit], query: str) -> str:
    """A line for each part of a document with its document, page and headings; as `context_lines`."""
    language = _language_of(query)
    phrases = _PHRASES[language]
    lines = (
        phrases.cited.format(
            place=_in_one_line(cite(hit.place, phrases), MAX_MEMORY_IN_PROMPT),
            quote=_in_one_line(hit.meant, MAX_MEMORY_IN_PROMPT),
        )
        for hit in chunks
        if hit.place is not None
    )
    return _listed(_DOCUMENTS[language], lines)


def _told(hit: Hit, phrases: Phrases) -> str:
    facts = [fact.model_copy(update={"doubt": None}) for fact in stated_in(hit.meant, hit.validity)]
    return qualified(_in_one_line(hit.meant, MAX_MEMORY_IN_PROMPT), facts, phrases)


def _language_of(query: str) -> Language:
    if not has_han(query):
        return Language.ENGLISH
    return Language.SIMPLIFIED_CHINESE if writes_simplified(query) else Language.TRADITIONAL_CHINESE


def _listed(head: str, items: Iterable[str]) -> str:
    """The items as lines below a head, as many as fit into `MAX_CONTEXT`; empty where there are none."""
    lines, length = [head], len(head)
    for item in items:
        length += len(item) + 3
        if length > MAX_CONTEXT:
            break
        lines.append(f"- {item}")
    return "\n".join(lines) if len(lines) > 1 else ""


def _in_one_line(text: str, longest: int) -> str:
    printable = "".join(character if character.isprintable() else " " for character in text)
    line = " ".join(printable.split())
    return line if len(line) <= longest else f"{line[:longest]}…"
