"""The rules joined with a trained rewriter: who decides what, what is reported, and what is left when it is down."""

from collections.abc import Callable

import pytest
from memory.coreference.long_term import LongTermResolver
from memory.coreference.rewriting_resolver import RewritingResolver
from structlog.testing import capture_logs

from memory.coreference.resolver import RuleResolver
from memory.ports.language import Extractor, QueryRewriter
from memory.values.dialogue import Role, Turn
from memory.values.entities import Entity
from memory.values.errors import ModelUnavailable, Overloaded
from memory.values.mentions import EntitySubtype, Mention
from memory.values.resolutions import CoreferenceResult, ReferenceSource, ResolutionRequest
from storage.inmemory.record import InMemoryRecord
from tests.memory.coreference.scripted_rewriter import DownRewriter, ScriptedRewriter, Span

MakeRequest = Callable[..., ResolutionRequest]
MakeEntity = Callable[..., Entity]


@pytest.fixture
def rules(extractor: Extractor) -> RuleResolver:
    return RuleResolver(extractor=extractor)


async def resolve(rules: RuleResolver, rewriter: QueryRewriter, request: ResolutionRequest) -> CoreferenceResult:
    return await RewritingResolver(rules, rewriter=rewriter).resolve(request)


async def test_what_was_left_out_is_put_in_by_the_rewriter(rules: RuleResolver, make_request: MakeRequest) -> None:
    request = make_request("為什麼喜歡？", ["我喜歡 AI-Box", "我也是"])
    result = await resolve(rules, ScriptedRewriter(("喜歡|", "AI-Box")), request)
    assert result.resolved_query == "為什麼喜歡 AI-Box？"
    (resolution,) = result.resolutions
    assert (resolution.original_text, resolution.resolved_text, resolution.start, resolution.end) == (
        "",
        "AI-Box",
        5,
        5,
    )
    assert resolution.source is ReferenceSource.INFERENCE
    assert resolution.confidence == result.confidence == pytest.approx(0.9)
    assert resolution.reason == "補上省略的部分，改寫模型取自上一輪"


async def test_a_reference_that_the_rules_cannot_resolve_takes_the_rewriter_s_antecedent(
    rules: RuleResolver, make_request: MakeRequest
) -> None:
    request = make_request("他今天會來嗎？", ["樓下賣早餐的昨天沒開", "真的嗎"])
    assert (await rules.resolve(request)).resolutions == ()
    result = await resolve(rules, ScriptedRewriter(("他", "樓下賣早餐的")), request)
    assert result.resolved_query == "樓下賣早餐的今天會來嗎？"
    assert result.resolutions[0].source is ReferenceSource.SESSION
    assert result.unresolved == ()


@pytest.mark.parametrize(
    ("query", "turns", "edit"),
    [
        ("她什麼時候來？", ["AI-Box 很好用", "是的"], ("她", "AI-Box")),
        ("它們的價格呢？", ["AI-Box 很好用", "是的"], ("它們", "AI-Box")),
        ("這家公司在哪裡？", ["張小姐在嗎？", "在"], ("這家公司", "張小姐")),
        ("How do I get there?", ["I installed Redis.", "Good."], ("there", "Redis")),
    ],
)
async def test_an_antecedent_that_does_not_agree_is_refused(
    rules: RuleResolver, make_request: MakeRequest, query: str, turns: list[str], edit: Span
) -> None:
    result = await resolve(rules, ScriptedRewriter(edit, confidence=1.0), make_request(query, turns))
    assert result.resolved_query == query


@pytest.mark.parametrize(
    ("query", "turns", "edit"),
    [
        ("那怎麼辦？", ["AI-Box 很好用", "是的"], ("那", "AI-Box")),
        ("不要打擾他人", ["王先生很忙", "是的"], ("他", "王先生")),
        ("It is raining.", ["I installed Redis.", "Good."], ("It", "Redis")),
        ("Don't worry about it.", ["I use Redis.", "Understood."], ("it", "Redis")),
    ],
)
async def test_what_only_looks_like_a_reference_is_not_replaced(
    rules: RuleResolver, make_request: MakeRequest, query: str, turns: list[str], edit: Span
) -> None:
    result = await resolve(rules, ScriptedRewriter(edit, confidence=1.0), make_request(query, turns))
    assert result.resolved_query == query


async def test_a_speaker_is_no_antecedent(rules: RuleResolver, make_request: MakeRequest) -> None:
    request = make_request("它的價格呢？", ["你好", "你好"])
    assert (await resolve(rules, ScriptedRewriter(("它", "你")), request)).resolved_query == request.query


async def test_a_sure_rewriter_overrules_the_rules_and_an_unsure_one_does_not(
    rules: RuleResolver, make_request: MakeRequest
) -> None:
    request = make_request("她喜歡什麼？", ["張小姐來了", "隔壁的老闆娘也來了"])
    assert (await rules.resolve(request)).resolved_query == "張小姐喜歡什麼？"
    edit = ("她", "隔壁的老闆娘")
    assert (await resolve(rules, ScriptedRewriter(edit), request)).resolved_query == "隔壁的老闆娘喜歡什麼？"
    unsure = await resolve(rules, ScriptedRewriter(edit, confidence=0.6), request)
    assert unsure.resolved_query == "張小姐喜歡什麼？"


async def test_a_name_that_memory_knows_is_not_overruled(
    rules: RuleResolver, make_request: MakeRequest, make_entity: MakeEntity
) -> None:
    entities = (make_entity("張小姐", EntitySubtype.PERSON),)
    request = make_request("她喜歡什麼？", ["張小姐來了", "隔壁的老闆娘也來了"], long_term=entities)
    result = await resolve(rules, ScriptedRewriter(("她", "隔壁的老闆娘")), request)
    assert result.resolved_query == "張小姐喜歡什麼？"


async def test_where_both_agree_the_rules_write_and_the_surer_one_counts(
    rules: RuleResolver, make_request: MakeRequest
) -> None:
    request = make_request("It's slow.", ["I installed Redis.", "Good."])
    ruled = await rules.resolve(request)
    result = await resolve(rules, ScriptedRewriter(("It", "Redis"), confidence=0.99), request)
    assert result.resolved_query == "Redis is slow."
    assert result.confidence == pytest.approx(0.99)
    assert result.confidence > ruled.confidence


async def test_former_and_latter_are_left_to_the_rules(rules: RuleResolver, make_request: MakeRequest) -> None:
    request = make_request("前者支援向量嗎？", ["我想比較 Redis 和 Qdrant", "好的"])
    result = await resolve(rules, ScriptedRewriter(("前者", "Redis 和 Qdrant"), confidence=1.0), request)
    assert result.resolved_query == "Redis 支援向量嗎？"


async def test_below_the_floor_nothing_is_rewritten(rules: RuleResolver, make_request: MakeRequest) -> None:
    request = make_request("為什麼喜歡？", ["我喜歡 AI-Box", "我也是"])
    unsure = ScriptedRewriter(("喜歡|", "AI-Box"), confidence=0.45)
    result = await resolve(rules, unsure, request)
    assert (result.resolved_query, result.confidence) == (request.query, 1.0)
    daring = await RewritingResolver(rules, rewriter=unsure, floor=0.3).resolve(request)
    assert daring.resolved_query == "為什麼喜歡 AI-Box？"


async def test_a_query_that_may_well_be_complete_is_not_filled(rules: RuleResolver, make_request: MakeRequest) -> None:
    request = make_request("為什麼喜歡？", ["我喜歡 AI-Box", "我也是"])
    result = await resolve(rules, ScriptedRewriter(("喜歡|", "AI-Box"), confidence=1.0, keep=0.3), request)
    assert result.resolved_query == request.query


async def test_a_copied_name_has_the_id_of_its_mention(rules: RuleResolver, make_request: MakeRequest) -> None:
    mention = Mention(text="AI-Box", start=4, end=10, subtype=EntitySubtype.PRODUCT, entity_id="ai-box-1")
    request = make_request("為什麼喜歡？", ["我喜歡 AI-Box", "我也是"])
    turns = (request.turns[0].model_copy(update={"mentions": (mention,)}), request.turns[1])
    result = await resolve(
        rules, ScriptedRewriter(("喜歡|", "AI-Box")), request.model_copy(update={"turns": turns})
    )  # fmt: skip
    assert result.resolutions[0].entity_id == "ai-box-1"
    assert result.entities_found == ("ai-box-1",)


async def test_a_known_name_is_never_cut(
    rules: RuleResolver, make_request: MakeRequest, make_entity: MakeEntity
) -> None:
    entities = (make_entity("小米手机", EntitySubtype.PRODUCT),)
    request = make_request("为什么喜欢？", ["我喜欢小米手机", "我也是"], long_term=entities)
    result = await resolve(rules, ScriptedRewriter(("喜欢|", "小米")), request)
    assert result.resolved_query == "为什么喜欢小米手机？"
    assert result.entities_found == (entities[0].entity_id,)


async def test_names_from_other_sessions_are_offered_unless_this_one_has_them(
    rules: RuleResolver, make_request: MakeRequest, make_entity: MakeEntity
) -> None:
    entities = tuple(make_entity(name) for name in ("AI-Box", "Redis", "宏康"))
    rewriter = ScriptedRewriter(("喜歡|", "AI-Box"))
    request = make_request("為什麼喜歡？", ["redis 很快", "是的"], long_term=entities)
    result = await resolve(rules, rewriter, request)
    assert rewriter.requests[0].names == ("AI-Box", "宏康")
    (resolution,) = result.resolutions
    assert resolution.source is ReferenceSource.LONG_TERM
    assert resolution.entity_id == entities[0].entity_id
    assert "長期記憶" in resolution.reason


async def test_last_time_reaches_another_session_through_the_record(
    rules: RuleResolver, make_request: MakeRequest, make_entity: MakeEntity
) -> None:
    record = InMemoryRecord()
    entity = make_entity("AI-Box", EntitySubtype.PRODUCT)
    async with record.writing(user_id=entity.user_id) as unit:
        await unit.entities.save([entity])
        await unit.commit()
    rewriter = ScriptedRewriter(("那個系統", "AI-Box"))
    resolver = LongTermResolver(RewritingResolver(rules, rewriter=rewriter), record=record)
    result = await resolver.resolve(make_request("上次說的那個系統支援中文嗎？", ["早安", "早安！"]))
    assert result.resolved_query == "AI-Box 支援中文嗎？"
    assert result.resolutions[0].source is ReferenceSource.LONG_TERM
    assert rewriter.requests[0].names == ("AI-Box",)


async def test_stock_phrases_are_not_read(rules: RuleResolver, make_request: MakeRequest) -> None:
    request = make_request("為什麼？", ["我喜歡 AI-Box", "我的記憶裡沒有相關的內容。"])
    turns = (request.turns[0], request.turns[1].model_copy(update={"mentions": ()}))
    rewriter = ScriptedRewriter()
    await resolve(rules, rewriter, request.model_copy(update={"turns": turns}))
    assert rewriter.requests[0].turns == ("我喜歡 AI-Box",)


async def test_without_a_conversation_the_rewriter_is_not_asked(rules: RuleResolver, make_request: MakeRequest) -> None:
    rewriter = ScriptedRewriter()
    await resolve(rules, rewriter, make_request("AI-Box 多少錢？"))
    assert rewriter.requests == []


@pytest.mark.parametrize(
    "error", [ModelUnavailable("The weights are corrupt.", component="rewriter"), Overloaded("The queue is full.")]
)
async def test_without_the_rewriter_the_rules_answer_and_say_so(
    rules: RuleResolver, make_request: MakeRequest, error: Exception
) -> None:
    request = make_request("它多少錢？", ["我在看 AI-Box", "好"])
    with capture_logs() as logs:
        result = await resolve(rules, DownRewriter(error), request)
    assert result.resolved_query == "AI-Box 多少錢？"
    assert result.degraded == ("rewriter",)
    assert [entry["component"] for entry in logs if entry["event"] == "resolution_degraded"] == ["rewriter"]


async def test_a_turn_of_the_user_is_read_whoever_spoke_last(rules: RuleResolver, make_request: MakeRequest) -> None:
    request = make_request("為什麼喜歡？", ["我喜歡 AI-Box"])
    extra = Turn(role=Role.USER, content="真的", created_at=request.now)
    rewriter = ScriptedRewriter(("喜歡|", "AI-Box"))
    result = await resolve(rules, rewriter, request.model_copy(update={"turns": (*request.turns, extra)}))
    assert result.resolved_query == "為什麼喜歡 AI-Box？"


async def test_a_copied_clause_is_no_antecedent(rules: RuleResolver, make_request: MakeRequest) -> None:
    request = make_request("What did we buy?", ["How about the desk, shall we sell the lamp?", "Yes."])
    result = await resolve(rules, ScriptedRewriter(("What did we buy|", "the desk, shall we sell the lamp")), request)
    assert result.resolved_query == request.query


async def test_several_things_are_not_one_entity_of_long_term_memory(
    rules: RuleResolver, make_request: MakeRequest, make_entity: MakeEntity
) -> None:
    request = make_request("它們哪個比較貴？", [], long_term=(make_entity("云谷园区", subtype=EntitySubtype.PLACE),))
    result = await resolve(rules, ScriptedRewriter(("它們", "云谷园区")), request)
    assert result.resolved_query == request.query


@pytest.mark.parametrize(
    ("query", "turn", "script"),
    [
        ("那是誰的？", "座位在二樓。", ("|", "座位在二樓")),  # before what refers itself
        ("Where is the restaurant?", "I installed Redis.", ("the restaurant|", "{installed Redis}")),
        ("台積電在哪裡？", "AI-Box 是什麼？", ("|", "{AI-Box} 是")),
        ("會議是什麼時候？", "我們的會議改到週五下午三點。", ("|", "改到週五下午三點")),  # the time that is asked for
        ("When is the meeting?", "We moved the meeting to Friday.", ("|", "on Friday")),
        ("明天會下雨嗎？", "今天天氣好。", ("|", "今天")),  # a time beside another
        ("今天星期幾？", "我買了一台 ThinkPad X1。", ("|", "ThinkPad X1")),
        ("今天天氣怎麼樣？", "我買了一台 ThinkPad X1。", ("|", "ThinkPad X1")),  # only places have weather
    ],
)
async def test_nothing_is_put_where_nothing_can_be_left_out(
    rules: RuleResolver, make_request: MakeRequest, query: str, turn: str, script: tuple[str, str]
) -> None:
    result = await resolve(rules, ScriptedRewriter(script), make_request(query, [turn, "好"]))
    assert result.resolved_query == query


@pytest.mark.parametrize(
    ("query", "place", "owner", "confidence", "expected"),
    [
        ("What is the phone number?", "number|", "of {OpenAI}", 0.7, "What is the phone number of OpenAI?"),
        ("Can I have the addresses?", "addresses|", "of {OpenAI}", 0.7, "Can I have the addresses of OpenAI?"),
        ("The phone number is fine.", "number|", "of {OpenAI}", 0.7, None),  # a statement says less often too little
        ("What is the plan?", "plan|", "of {OpenAI}", 0.8, None),  # which nobody has to own
        ("What is the plan?", "plan|", "of {OpenAI}", 0.97, "What is the plan of OpenAI?"),
        ("What is Alice's phone number?", "number|", "of {OpenAI}", 0.97, None),
        ("How is the weather?", "weather|", "{to Lyon}", 0.7, None),  # its preposition belongs to another sentence
        ("What is my phone number?", "number|", "of {OpenAI}", 0.97, None),
        ("What is the phone number?", "number|", "of {the price}", 0.8, None),
    ],
)
async def test_what_one_asks_of_something_gets_its_owner(
    rules: RuleResolver, make_request: MakeRequest, query: str, place: str, owner: str, confidence: float,
    expected: str | None,
) -> None:  # fmt: skip
    rewriter = ScriptedRewriter((place, owner), confidence=confidence, keep=0.0)
    result = await resolve(
        rules, rewriter, make_request(query, ["Tell me about OpenAI and the price. We move to Lyon.", "ok"])
    )
    assert result.resolved_query == (expected or query)


async def test_what_opened_a_sentence_is_not_capitalised_inside_one(
    rules: RuleResolver, make_request: MakeRequest
) -> None:
    request = make_request("Does she like it?", ["My sister moved to Lyon.", "ok"])
    result = await resolve(rules, ScriptedRewriter(("she", "My sister"), confidence=0.95), request)
    assert result.resolved_query.startswith("Does my sister like")


async def test_two_names_and_the_way_between_them_are_no_antecedent(
    rules: RuleResolver, make_request: MakeRequest
) -> None:
    request = make_request("What is the monthly price?", ["We moved from Slack to Teams.", "ok"])
    result = await resolve(rules, ScriptedRewriter(("price|", "of {Slack to Teams}")), request)
    assert result.resolved_query == request.query


@pytest.mark.parametrize(("keep", "expected"), [(0.7, "AI-Box 很貴嗎？"), (0.9, "它很貴嗎？")])
async def test_a_rewriter_that_is_sure_to_leave_a_query_alone_goes_before_the_rules(
    rules: RuleResolver, make_request: MakeRequest, keep: float, expected: str
) -> None:
    result = await resolve(rules, ScriptedRewriter(keep=keep), make_request("它很貴嗎？", ["我們買了 AI-Box。", "好"]))
    assert result.resolved_query == expected


async def test_words_that_refer_to_nothing_are_never_replaced(rules: RuleResolver, make_request: MakeRequest) -> None:
    request = make_request("Is anything else open?", ["We went to the Blue Door.", "ok"])
    result = await resolve(rules, ScriptedRewriter(("anything", "the Blue Door")), request)
    assert result.resolved_query == request.query


@pytest.mark.parametrize(
    ("query", "turn", "script", "expected"),
    [
        ("是什麼品種？", "布偶貓很可愛。", ("|", "布偶貓"), "布偶貓是什麼品種？"),
        ("有什么特色？", "鸡笼顶怎么样", ("|", "鸡笼顶"), "鸡笼顶有什么特色？"),
        ("Is there a museum?", "I am in Hamburg.", ("museum|", "in {Hamburg}"), "Is there a museum in Hamburg?"),
        ("那有什麼好吃的？", "寧波有什麼好玩的？", ("那", "寧波"), "寧波有什麼好吃的？"),
        ("有停車場嗎？", "我訂了漢來大飯店。", ("有|", "漢來大飯店"), "漢來大飯店有停車場嗎？"),
        ("附近有車站嗎？", "我訂了漢來大飯店。", ("附近有|", "{漢來大飯店}的"), "漢來大飯店附近有車站嗎？"),
        ("需要多少錢？", "我們要把倉庫搬到桃園。", ("|", "把倉庫"), "倉庫需要多少錢？"),
        ("哪個更難？", "我在學 Rust 和 Go。", ("哪個|", "Rust 和 Go"), "Rust 和 Go 哪個更難？"),
        (
            "電池耐用嗎？",
            "我買了 AI-Box 的電池。",
            ("|", "AI-Box 的"),
            "AI-Box 的電池耐用嗎？",
        ),  # what both find is said once
        ("能退嗎？", "我訂了《哈利波特》首映票。", ("|", "哈利波特》首映票"), "《哈利波特》首映票能退嗎？"),
        ("誰寫的？", "我在讀《某年某月》。", ("|", "《某年某月"), "《某年某月》誰寫的？"),
        ("為什麼？", "我們要把倉庫搬到桃園。", ("為什麼|", "把倉庫搬到桃園"), "為什麼把倉庫搬到桃園？"),
    ],
)
async def test_the_rewriter_fills_the_gap_that_the_rules_only_see(
    rules: RuleResolver, make_request: MakeRequest, query: str, turn: str, script: tuple[str, str], expected: str
) -> None:
    result = await resolve(rules, ScriptedRewriter(script), make_request(query, [turn, "好"]))
    assert result.resolved_query == expected


@pytest.mark.parametrize(("confidence", "expected"), [(0.7, "很好用。"), (0.9, "AI-Box 很好用。")])
async def test_a_statement_is_filled_only_by_a_sure_rewriter(
    rules: RuleResolver, make_request: MakeRequest, confidence: float, expected: str
) -> None:
    rewriter = ScriptedRewriter(("|", "AI-Box"), confidence=confidence)
    assert (
        await resolve(rules, rewriter, make_request("很好用。", ["我們買了 AI-Box。", "好"]))
    ).resolved_query == expected
