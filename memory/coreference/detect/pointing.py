"""What one referring expression may stand for in a session, without a query around it (000 §6.4)."""

from ...ports.language import Resolver
from ...values.resolutions import Alternative, CoreferenceResolution, ResolutionRequest
from ...values.text import fold_lower, has_han

_POINTING = frozenset({"这", "那", "这个", "那个", "这一个", "那一个", "this", "that", "this one", "that one"})
"""Alone they say no more than 它 and "it"; a resolver leaves them where it is not sure that they refer at all."""


async def possible_referents(word: str, request: ResolutionRequest, *, resolver: Resolver) -> list[Alternative]:
    """All that a referring expression may stand for, best first, each once; none where it does not refer.

    Args:
        word: Any expression: 它, 這個系統, 上週提到的, "the latter".
        request: The session and long-term memory; its query is not looked at.
        resolver: QuestionTarget with a sentence about the word.
    """
    words = [word.strip()]
    if fold_lower(words[0]) in _POINTING:
        words.append("它" if has_han(word) else "it")
    for expression in words:
        query = f"{expression}怎麼樣？" if has_han(word) else f"Tell me about {expression}."
        result = await resolver.resolve(request.model_copy(update={"query": query}))
        found: dict[str, Alternative] = {}
        for resolution in (*result.resolutions, *result.unresolved):
            for option in (*_resolved(resolution), *resolution.alternatives):
                found.setdefault(option.entity_id or option.text, option)
        if found:
            return list(found.values())
    return []


def _resolved(resolution: CoreferenceResolution) -> tuple[Alternative, ...]:
    if resolution.resolved_text == resolution.original_text:
        return ()
    found = Alternative(
        text=resolution.resolved_text,
        entity_id=resolution.entity_id,
        source=resolution.source,
        score=resolution.confidence,
    )
    return (found,)
