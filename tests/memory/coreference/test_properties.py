"""What holds for any query, any conversation and whatever the reader finds in them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.coreference.resolver import ReadingResolver
from memory.language.time_windows import find_window
from memory.values.entities import Entity
from memory.values.text import fold_lower
from memory.values.understanding.dialogue import HistoryEntry
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action, ContextSpan, Intent, Replacement, Rewrite
from memory.values.understanding.resolutions import CoreferenceResult
from tests.memory.coreference.notation import NOW, entity, mentions_in, remembered, request

_WORDS = (
    "它 她 他們 這個 那台機器 其 前者 後者 都是 第二個 上次說的 那裡 AI-Box Redis Qdrant 台積電 張小姐 王先生 三體 杭州"
    " Alice Bob 和 、 ， 。 ？ 的 是 不是 不對 我是說 應該是 很好 價格 多少錢 在哪 嗎 呢 it its it's they her that one"
    " the first one both there no not I meant and or , . ? ! is cost price 3 10:30 Monday \u3000 😀 ' ’ 𠮷"
)
_PIECES = st.lists(st.sampled_from(_WORDS.split(" ")), max_size=8)
_TEXTS = st.one_of(st.text(max_size=20), _PIECES.map(" ".join), _PIECES.map("".join))
_PROBABILITIES = st.floats(0, 1)
_FLOOR = 0.5
_KNOWN = (entity("AI-Box", EntitySubtype.PRODUCT), entity("張小姐", EntitySubtype.PERSON))


@st.composite
def spans(draw: st.DrawFn, turns: list[str]) -> ContextSpan:
    """A span of a turn, or a name of long-term memory."""
    usable = [number for number, turn in enumerate(turns) if turn]
    if not usable or draw(st.booleans()):
        name = draw(st.sampled_from([known.entity_value for known in _KNOWN]))
        return ContextSpan(text=name, turn=None, start=0, end=len(name), probability=draw(_PROBABILITIES))
    number = draw(st.sampled_from(usable))
    start = draw(st.integers(0, len(turns[number]) - 1))
    end = draw(st.integers(start + 1, len(turns[number])))
    text = turns[number][start:end]
    return ContextSpan(text=text, turn=number, start=start, end=end, probability=draw(_PROBABILITIES))


@st.composite
def rewrites(draw: st.DrawFn, query: str, turns: list[str]) -> Rewrite:
    """A rewrite as the reader may give it: edits in order that do not touch."""
    replacements, position = [], 0
    while position <= len(query) and draw(st.booleans()):
        start = draw(st.integers(position, len(query)))
        end = draw(st.integers(start, min(len(query), start + 4)))
        antecedents = draw(st.lists(spans(turns), max_size=2))
        written = "和".join(span.text for span in antecedents) + draw(st.sampled_from(["", "'s", "的"]))
        replacements.append(
            Replacement(
                start=start,
                end=end,
                written=written,
                antecedents=tuple(antecedents),
                confidence=draw(_PROBABILITIES),
                alternatives=tuple(draw(st.lists(spans(turns), max_size=3))),
            )
        )
        position = end + 2
    action = draw(st.sampled_from([Action.REWRITE, Action.ASK])) if replacements else Action.KEEP
    return Rewrite(action=action, text=query, replacements=tuple(replacements), confidence=draw(_PROBABILITIES))


@st.composite
def readings(draw: st.DrawFn) -> tuple[str, list[str], Extraction]:
    """A query, its conversation and what the reader finds."""
    query, turns = draw(_TEXTS), draw(st.lists(_TEXTS, max_size=5))
    rewrite = draw(st.none() | rewrites(query, turns))
    intents = draw(st.lists(st.sampled_from(list(Intent)), max_size=2, unique=True))
    return query, turns, Extraction(mentions=mentions_in(query), rewrite=rewrite, intents=tuple(intents))


def _applied(query: str, result: CoreferenceResult) -> str:
    for resolution in reversed(result.resolutions):
        query = query[: resolution.start] + resolution.written + query[resolution.end :]
    return query


def _check(query: str, result: CoreferenceResult) -> None:
    assert result.original_query == query
    assert 0.0 <= result.confidence <= 1.0
    if revision := result.revision:
        start, end = revision.resolution.start, revision.resolution.end
        assert revision.query[start:end] == revision.resolution.original_text
        assert revision.resolution.written in result.resolved_query
    else:
        assert _applied(query, result) == result.resolved_query
    for resolution in (*result.resolutions, *result.unresolved):
        assert query[resolution.start : resolution.end] == resolution.original_text
    for resolution in result.resolutions:
        assert resolution.resolved_text in resolution.written
        assert _FLOOR <= resolution.confidence <= 1.0
    if asked := result.clarification:
        assert query[asked.start : asked.end] == asked.original_text
        assert all(option.text in asked.question for option in asked.options)


@given(reading=readings(), history=st.booleans())
@settings(max_examples=300, deadline=None)
async def test_the_resolutions_applied_to_the_query_are_the_resolved_query(
    reading: tuple[str, list[str], Extraction], history: bool
) -> None:
    query, turns, extraction = reading
    resolver = ReadingResolver(floor=_FLOOR)
    result = await resolver.resolve(request(query, turns, long_term=_KNOWN), extraction)
    _check(query, result)
    later: list[HistoryEntry] = remembered(result) if history else []
    for message in ("後者", "都是", "不是，我是說 Redis", "No, Alice", "不對，是 11:30"):
        asked = request(message, [*turns[: len(turns) // 2 * 2], query, "嗯"], history=tuple(later), long_term=_KNOWN)
        _check(message, await resolver.resolve(asked, Extraction(mentions=mentions_in(message))))


@given(reading=readings())
@settings(max_examples=100, deadline=None)
async def test_no_entity_is_named_but_those_of_the_request(reading: tuple[str, list[str], Extraction]) -> None:
    query, turns, extraction = reading
    asked = request(query, turns, long_term=_KNOWN)
    result = await ReadingResolver(floor=_FLOOR).resolve(asked, extraction)
    mentioned = {mention.entity_id for turn in asked.turns for mention in turn.mentions or ()}
    given_ids = {known.entity_id for known in _KNOWN} | mentioned | {found.entity_id for found in extraction.mentions}
    options = [*(result.clarification.options if result.clarification else ())]
    found = {*result.entities_found, *(option.entity_id for option in options if option.entity_id)}
    found |= {resolution.entity_id for resolution in result.resolutions if resolution.entity_id}
    assert found <= given_ids


@given(query=_TEXTS, turns=st.lists(_TEXTS, max_size=4))
@settings(max_examples=100, deadline=None)
async def test_without_a_reading_nothing_is_resolved(query: str, turns: list[str]) -> None:
    known: tuple[Entity, ...] = _KNOWN
    result = await ReadingResolver(floor=_FLOOR).resolve(
        request(query, turns, long_term=known), Extraction(degraded=("reader",))
    )
    assert result.resolutions == result.unresolved == ()
    assert result.resolved_query == query or result.revision


@given(text=st.text())
def test_folding_keeps_every_offset_and_any_text_may_name_a_time(text: str) -> None:
    assert len(fold_lower(text)) == len(text)
    find_window(fold_lower(text), NOW)
