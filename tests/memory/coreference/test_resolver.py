"""What becomes of the reader's rewrite: sources, entities, reasons, the floor, and the text itself."""

import pytest

from memory.coreference.reasons import reason
from memory.coreference.resolver import ReadingResolver
from memory.values.entities import EntityStatus
from memory.values.errors import InvalidField
from memory.values.understanding.dialogue import Role
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action, Replacement, Rewrite
from memory.values.understanding.resolutions import ReferenceSource
from tests.memory.coreference.notation import entity, read, request, resolve


@pytest.mark.parametrize(
    ("marked", "turn", "expected"),
    [
        ("{它|AI-Box}多少錢？", "我在看 AI-Box", "AI-Box 多少錢？"),
        ("{它|AI-Box}多少錢？", "我在看AI-Box", "AI-Box多少錢？"),
        ("请{她|李雪}明天打给我", "我约了李雪", "请李雪明天打给我"),
        ("附近有{|Hotel One}停車場嗎？", "我住 Hotel One", "附近有 Hotel One 停車場嗎？"),
        ("Where is {it|AI-Box}?", "We bought an AI-Box.", "Where is AI-Box?"),
        ("Does {her|Alice|Alice's} manager agree?", "Alice asked.", "Does Alice's manager agree?"),
        ("Which terminal{|for Berlin}?", "I want a ticket for Berlin", "Which terminal for Berlin?"),
        ("{他們|王小明+李小姐|王小明和李小姐}住哪裡？", "王小明跟李小姐來了", "王小明和李小姐住哪裡？"),
        ("{她|張小姐}喜歡{它|ThinkPad}嗎？", "張小姐買了 ThinkPad", "張小姐喜歡 ThinkPad 嗎？"),
        ("外面又下雨了。", "我在看 AI-Box", "外面又下雨了。"),
    ],
)
async def test_a_query_becomes_what_the_reader_wrote(marked: str, turn: str, expected: str) -> None:
    result = await resolve(marked, turn)
    assert result.resolved_query == expected
    assert result.unresolved == ()
    assert result.clarification is None


async def test_a_resolution_says_what_stood_there_and_what_is_meant() -> None:
    (resolution,) = (await resolve("Does {her|Alice|Alice's} manager agree?", "Alice asked.")).resolutions
    assert (resolution.original_text, resolution.resolved_text, resolution.written) == ("her", "Alice", "Alice's")
    assert (resolution.start, resolution.end) == (5, 8)
    assert resolution.confidence == 0.95


@pytest.mark.parametrize(
    ("marked", "source"),
    [
        ("{它|AI-Box}多少錢？", ReferenceSource.SESSION),
        ("{|AI-Box}多少錢？", ReferenceSource.INFERENCE),
        ("上次說的{那台|ThinkPad}多少錢？", ReferenceSource.LONG_TERM),
    ],
)
async def test_the_source_is_where_the_antecedent_stands(marked: str, source: ReferenceSource) -> None:
    (resolution,) = (await resolve(marked, "我在看 AI-Box", long_term=[entity("ThinkPad")])).resolutions
    assert resolution.source is source


async def test_a_name_that_only_memory_offers_has_to_be_surer() -> None:
    known = [entity("Pinner"), entity("ThinkPad")]
    said = await resolve("{它|AI-Box}多少錢？", "我在看 AI-Box", confidence=0.4, floor=0.2)
    assert said.resolved_query == "AI-Box 多少錢？"
    offered = await resolve("what's {the van|Pinner} going to set me back", long_term=known, confidence=0.4, floor=0.2)
    assert offered.resolved_query == "what's the van going to set me back"
    assert [left.original_text for left in offered.unresolved] == ["the van"]
    assert offered.clarification is None
    sure = await resolve("{它|ThinkPad}多少錢？", long_term=known, confidence=0.7, floor=0.2)
    assert sure.resolved_query == "ThinkPad 多少錢？"


async def test_entities_are_found_by_name_alias_and_mention() -> None:
    known = entity("宏康 HCI", EntitySubtype.PRODUCT, aliases=("超融合",))
    result = await resolve("{它|超融合}的價格呢？", "介紹一下超融合", long_term=[known])
    assert result.entities_found == (known.entity_id,)
    assert result.resolutions[0].entity_id == known.entity_id
    new = await resolve("{它|那台 AI-Box}的價格呢？", "我買了那台 AI-Box")
    assert new.entities_found == (entity("AI-Box").entity_id,)
    assert (await resolve("{它|桌子}多高？", "我買了桌子")).entities_found == ()


async def test_a_group_has_the_ids_of_its_members_and_none_of_its_own() -> None:
    result = await resolve("{它們|Redis+Qdrant|Redis 和 Qdrant}要錢嗎？", "Redis 和 Qdrant 哪個好？")
    assert set(result.entities_found) == {entity("Redis").entity_id, entity("Qdrant").entity_id}
    assert result.resolutions[0].entity_id is None
    assert result.resolutions[0].resolved_text == "Redis 和 Qdrant"


async def test_an_archived_entity_is_nobody() -> None:
    archived = entity("AI-Box", status=EntityStatus.ARCHIVED)
    result = await resolve(
        "{它|盒子}多少錢？", "我在看盒子", long_term=[archived.model_copy(update={"aliases": ("盒子",)})]
    )
    assert result.entities_found == ()


@pytest.mark.parametrize(
    ("marked", "turns", "words"),
    [
        ("{它|AI-Box}多少錢？", ("我在看 AI-Box", "好"), "上一輪提到的產品"),
        ("{它|AI-Box}多少钱？", ("我在看 AI-Box", "好"), "上一轮提到的产品"),
        ("{它|AI-Box}多少錢？", ("我在看 AI-Box", "好", "早安", "早"), "2 輪前提到的產品"),
        ("{|AI-Box 的}價格呢？", ("我在看 AI-Box 的規格", "好"), "補上省略的：上一輪提到的事物"),
        ("{他|王經理}幾點到？", (), "長期記憶中的人物"),
        ("How much is {it|Redis}?", ("I use Redis.", "ok"), "product mentioned 1 turn ago"),
    ],
)
async def test_the_reason_is_one_line_in_the_language_of_the_query(
    marked: str, turns: tuple[str, ...], words: str
) -> None:
    (resolution,) = (await resolve(marked, *turns, long_term=[entity("王經理", EntitySubtype.PERSON)])).resolutions
    assert resolution.reason == words


async def test_what_is_not_sure_enough_stays_as_it_was() -> None:
    result = await resolve("{它|AI-Box}多少錢？", "我在看 AI-Box", confidence=0.4)
    assert (result.resolved_query, result.resolutions, result.confidence) == ("它多少錢？", (), 0.0)
    (unresolved,) = result.unresolved
    assert (unresolved.original_text, unresolved.resolved_text) == ("它", "它")
    assert [alternative.text for alternative in unresolved.alternatives] == ["AI-Box"]
    daring = await resolve("{它|AI-Box}多少錢？", "我在看 AI-Box", confidence=0.4, floor=0.3)
    assert daring.resolved_query == "AI-Box 多少錢？"


async def test_of_several_edits_those_that_are_sure_are_made() -> None:
    query, extraction = read("{她|張小姐}喜歡{它|ThinkPad}嗎？", ["張小姐買了 ThinkPad"])
    assert extraction.rewrite
    first, second = extraction.rewrite.replacements
    unsure = extraction.rewrite.model_copy(
        update={"replacements": (first, second.model_copy(update={"confidence": 0.3})), "confidence": 0.3}
    )
    result = await ReadingResolver(floor=0.5).resolve(
        request(query, ["張小姐買了 ThinkPad"]), extraction.model_copy(update={"rewrite": unsure})
    )
    assert result.resolved_query == "張小姐喜歡它嗎？"
    assert [open_reference.original_text for open_reference in result.unresolved] == ["它"]


async def test_the_confidence_counts_that_the_message_is_to_be_edited_at_all() -> None:
    query, extraction = read("{它|AI-Box}多少錢？", ["我在看 AI-Box"])
    assert extraction.rewrite
    doubted = extraction.model_copy(update={"rewrite": extraction.rewrite.model_copy(update={"confidence": 0.6})})
    result = await ReadingResolver(floor=0.5).resolve(request(query, ["我在看 AI-Box"]), doubted)
    assert result.confidence == result.resolutions[0].confidence == pytest.approx(0.6)


async def test_words_that_go_without_an_antecedent_leave_no_gap() -> None:
    rewrite = Rewrite(
        action=Action.REWRITE,
        text="and the price?",
        replacements=(Replacement(start=4, end=9, written="", confidence=0.9),),
        confidence=0.9,
    )
    result = await ReadingResolver(floor=0.5).resolve(request("and their the price?"), Extraction(rewrite=rewrite))
    assert result.resolved_query == "and the price?"


async def test_without_a_reading_the_query_stays_and_the_result_says_why() -> None:
    result = await ReadingResolver(floor=0.5).resolve(
        request("它多少錢？", ["我在看 AI-Box"]), Extraction(degraded=("reader",))
    )
    assert (result.resolved_query, result.confidence, result.degraded) == ("它多少錢？", 1.0, ("reader",))


async def test_a_stock_phrase_of_the_assistant_is_not_counted_among_the_turns() -> None:
    asked = request("它多少錢？", ["我在看 AI-Box", "好", "謝謝", "不客氣。"])
    turns = tuple(
        turn.model_copy(update={"mentions": ()}) if turn.role is Role.ASSISTANT else turn for turn in asked.turns
    )
    _, extraction = read("{它|AI-Box}多少錢？", ["我在看 AI-Box", "謝謝"])
    result = await ReadingResolver(floor=0.5).resolve(asked.model_copy(update={"turns": turns}), extraction)
    assert result.entities_found == (entity("AI-Box").entity_id,)
    assert result.resolutions[0].reason == "2 輪前提到的產品"


@pytest.mark.parametrize("floor", [-0.1, 1.5])
def test_a_floor_outside_0_to_1_is_refused(floor: float) -> None:
    with pytest.raises(InvalidField) as refused:
        ReadingResolver(floor=floor)
    assert refused.value.field == "floor"


def test_a_reason_is_simplified_only_where_the_query_is_as_the_context_of_a_prompt_is() -> None:
    def why(query: str) -> str:
        return reason(query, exchanges_back=1, subtype=None, left_out=False, others=())

    assert why("它多少元") == why("它多少錢") == "上一輪提到的事物"
    assert why("它多少钱") == "上一轮提到的事物"
