"""What holds for any query and any conversation."""

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory.coreference.detect.detection import find_references
from memory.coreference.detect.ellipsis import find_ellipsis

from memory.coreference.resolver import RuleResolver
from memory.ports.language import Extractor
from memory.values.entities import Entity
from memory.values.mentions import EntitySubtype
from memory.values.resolutions import ResolutionRequest
from memory.values.text import fold_lower

_WORDS = (
    "它 牠 他 她 它們 他们 這個 那个 這家公司 那本書 那台機器 其 該公司 本書 前者 後者 兩者 上次說的 "
    "之前提到的那個系統 "
    "你说的 那裡 那時候 AI-Box Redis Qdrant 台積電 張小姐 王先生 三體 杭州 Alice Bob Kyoto 和 與 、 ， 。 ？ 的 是 "
    "很好 "
    "價格 多少錢 在哪 嗎 呢 it its it's they them their he him his she her this that these one the company former "
    "latter "
    "both there what we discussed last time from week and or , . ? ! is are do does cost price a red car my phone "
    "I like "
    "Mr. Smith \u3000 😀 ' ’"
)
_PIECES = st.lists(st.sampled_from(_WORDS.split(" ")), max_size=10)
_REFERRING = st.lists(st.sampled_from("它 她 it its they 嗎 呢 is ? ？ 好".split(" ")), max_size=8)  # noqa: SIM905
_TEXTS = st.one_of(st.text(max_size=40), _PIECES.map(" ".join), _PIECES.map("".join))
_QUIET = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@given(text=_TEXTS)
@_QUIET
def test_offsets_are_exact_and_references_do_not_overlap(text: str) -> None:
    end = 0
    for reference in find_references(text):
        assert end <= reference.start < reference.end <= len(text)
        assert text[reference.start : reference.end] == reference.text
        end = reference.end
    if gap := find_ellipsis(text):
        assert text[gap.start : gap.end] == gap.text


@given(text=st.text())
@_QUIET
def test_folding_keeps_every_offset(text: str) -> None:
    assert len(fold_lower(text)) == len(text)


@given(query=_TEXTS, turns=st.lists(_TEXTS, max_size=4), remember=st.booleans())
@_QUIET
async def test_no_input_breaks_it_and_every_change_is_accounted_for(
    extractor: Extractor, make_request: Callable[..., ResolutionRequest], make_entity: Callable[..., Entity],
    query: str, turns: list[str], remember: bool,
) -> None:  # fmt: skip
    entities = (
        (make_entity("AI-Box", EntitySubtype.PRODUCT), make_entity("張小姐", EntitySubtype.PERSON)) if remember else ()
    )
    result = await RuleResolver(extractor=extractor).resolve(make_request(query, turns, long_term=entities))
    assert result.original_query == query
    assert 0.0 <= result.confidence <= 1.0
    if revision := result.revision:  # 前者 may answer what the turn before left open
        assert revision.query in turns[::2]
        assert revision.query[revision.resolution.start : revision.resolution.end] == revision.resolution.original_text
    elif not result.resolutions:
        assert result.resolved_query == query
    for resolution in (*result.resolutions, *result.unresolved):
        assert query[resolution.start : resolution.end] == resolution.original_text
    for resolution in result.resolutions:
        assert (
            resolution.resolved_text.strip() in result.resolved_query
            or resolution.resolved_text[1:] in result.resolved_query
        )
        assert resolution.confidence >= 0.5
    given_ids = {entity.entity_id for entity in entities}
    referred_ids = {
        *result.entities_found,
        *(resolution.entity_id for resolution in result.resolutions if resolution.entity_id),
    }
    assert referred_ids <= given_ids


@given(query=_TEXTS, turns=st.lists(_TEXTS, max_size=4))
@_QUIET
async def test_a_query_with_nothing_that_refers_comes_back_identical(
    extractor: Extractor, make_request: Callable[..., ResolutionRequest], query: str, turns: list[str]
) -> None:
    if not find_references(query) and not find_ellipsis(query):
        result = await RuleResolver(extractor=extractor).resolve(make_request(query, turns))
        assert result.resolved_query == query
        assert result.resolutions == result.unresolved == ()


@given(
    query=st.lists(
        st.sampled_from(["它", "她", "it", "its", "they", "嗎", "呢", "is", "?", "？", "好"]), max_size=8
    ).map(" ".join)
)
@_QUIET
async def test_without_anything_to_stand_for_it_the_query_comes_back_identical(
    extractor: Extractor, make_request: Callable[..., ResolutionRequest], query: str
) -> None:
    result = await RuleResolver(extractor=extractor).resolve(make_request(query))
    assert result.resolved_query == query


@given(query=_TEXTS, turns=st.lists(_TEXTS, max_size=3))
@_QUIET
async def test_a_resolved_query_resolves_to_itself_once_no_reference_is_left(
    extractor: Extractor, make_request: Callable[..., ResolutionRequest], query: str, turns: list[str]
) -> None:
    resolver = RuleResolver(extractor=extractor)
    once = (await resolver.resolve(make_request(query, turns))).resolved_query
    if not find_references(once) and not find_ellipsis(once):
        again = await resolver.resolve(make_request(once, turns))
        assert again.resolved_query == once or again.revision  # it may answer what the message before left open
