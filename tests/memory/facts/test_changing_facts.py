"""How facts change, in the words of users: replaced, corrected, ended, denied, confirmed, planned (issue: facts)."""

import pytest

from memory.values.facts import Ending, FactStatus
from tests.memory.diary import Diary, day

MOVES = [
    ("我住板橋", "板橋", "我們上個月搬到三峽了", "三峽", "上個月"),
    ("我住在浦东", "浦东", "上个月搬到苏州了", "苏州", "上个月"),
    ("I live in Leeds", "Leeds", "we moved to York last month", "York", "last month"),
]


@pytest.mark.parametrize(("before", "old", "after", "new", "time"), MOVES)
async def test_the_newest_holds_and_the_old_keeps_its_interval(
    diary: Diary, before: str, old: str, after: str, new: str, time: str
) -> None:
    await diary.tell("2026-03-02", before, f"user | lives_in | {old}")
    await diary.tell("2026-05-10", after, f"user | lives_in | {new} | time={time}")
    assert await diary.now_true("lives_in") == [new]
    assert await diary.now_true("lives_in", "2026-03-31") == [old]
    assert await diary.now_true("lives_in", "2026-04-02") == [new]
    archived, current = await diary.facts("lives_in")
    assert (archived.status, archived.ending, archived.ended_by) == (FactStatus.ARCHIVED, Ending.REPLACED, "r2")
    assert (current.status, current.supersedes, current.resource_id) == (FactStatus.ACTIVE, archived.fact_id, "r2")


async def test_moving_back_is_a_new_stay_and_both_old_ones_keep_their_intervals(diary: Diary) -> None:
    await diary.tell("2026-01-05", "我住板橋", "user | lives_in | 板橋")
    await diary.tell("2026-03-05", "我搬到三峽了", "user | lives_in | 三峽")
    await diary.tell("2026-06-05", "我又搬回板橋了", "user | lives_in | 板橋")
    assert [await diary.now_true("lives_in", date) for date in ("2026-02-01", "2026-04-01", "2026-07-01")] == [
        ["板橋"],
        ["三峽"],
        ["板橋"],
    ]


@pytest.mark.parametrize(
    ("first", "old", "correction", "new"),
    [
        ("會議在週三", "週三", "不是，是週四", "週四"),
        ("会议在周三", "周三", "不对，是周四", "周四"),
        ("The meeting is on Wednesday", "Wednesday", "no wait, Thursday, not Wednesday", "Thursday"),
    ],
)
async def test_a_correction_takes_back_what_was_said_wrong(
    diary: Diary, first: str, old: str, correction: str, new: str
) -> None:
    subject = "meeting" if first.isascii() else first[:2]
    await diary.tell("2026-03-02", first, f"{subject} | scheduled_at | {old}")
    await diary.tell("2026-03-03", correction, f"{subject} | scheduled_at | {new}", intents="correction")
    assert await diary.now_true("scheduled_at") == [new]
    assert await diary.now_true("scheduled_at", "2026-03-02") == [new]
    [wrong, _] = await diary.facts("scheduled_at")
    assert wrong.ending is Ending.RETRACTED


async def test_a_correction_with_a_change_in_it_ends_what_was_true(diary: Diary) -> None:
    await diary.tell("2026-03-02", "the vegetable box comes on Tuesdays", "vegetable box | scheduled_at | Tuesdays")
    message = "it did, it's every other Thursday now"
    await diary.tell(
        "2026-05-02",
        message,
        "vegetable box | scheduled_at | Tuesdays | ended",
        "vegetable box | scheduled_at | every other Thursday | recurring",
        intents="correction, statement",
    )
    assert await diary.now_true("scheduled_at", "2026-04-01") == ["Tuesdays"]
    assert await diary.now_true("scheduled_at") == ["every other Thursday"]


@pytest.mark.parametrize(
    ("first", "second", "objects"),
    [
        ("我對花生過敏", "我對蝦子也過敏", ["花生", "蝦子"]),
        ("我对花生过敏", "我对虾也过敏", ["花生", "虾"]),
        ("I'm allergic to peanuts", "and to shrimp", ["peanuts", "shrimp"]),
    ],
)
async def test_many_values_stand_beside_each_other(diary: Diary, first: str, second: str, objects: list[str]) -> None:
    for date, message, object_ in zip(("2026-03-02", "2026-03-03"), (first, second), objects, strict=True):
        await diary.tell(date, message, f"user | allergic_to | {object_}")
    assert sorted(await diary.now_true("allergic_to")) == sorted(objects)


async def test_only_what_a_correction_names_is_taken_out_of_many(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我對花生和蝦子過敏", "user | allergic_to | 花生", "user | allergic_to | 蝦子")
    await diary.tell("2026-03-03", "不是花生，是核桃", "user | allergic_to | 核桃", intents="correction")
    assert sorted(await diary.now_true("allergic_to")) == ["核桃", "蝦子"]


@pytest.mark.parametrize(
    ("likes", "stops", "object_"),
    [
        ("我喜歡拿鐵", "我現在不喝拿鐵了", "拿鐵"),
        ("我喜欢拿铁", "我现在不喝拿铁了", "拿铁"),
        ("I love lattes", "I used to love lattes", "lattes"),
    ],
)
async def test_what_has_ended_was_true_until_then(diary: Diary, likes: str, stops: str, object_: str) -> None:
    await diary.tell("2026-03-02", likes, f"user | likes | {object_}")
    await diary.tell("2026-05-02", stops, f"user | likes | {object_} | ended")
    assert await diary.now_true("likes") == []
    assert await diary.now_true("likes", "2026-04-01") == [object_]
    [fact] = await diary.facts("likes")
    assert (fact.ending, fact.valid_to) == (Ending.ENDED, day("2026-05-02"))


@pytest.mark.parametrize(
    ("qualifier", "ending"), [("past", Ending.REPLACED), ("ended", Ending.REPLACED), ("recurring", None)]
)
async def test_of_two_dates_in_one_message_the_one_that_is_over_gives_way(
    diary: Diary, qualifier: str, ending: Ending | None
) -> None:
    old, new = f"yoga | scheduled_at | Monday | {qualifier}", "yoga | scheduled_at | Wednesday"
    await diary.tell("2026-03-02", "yoga moved from Monday to Wednesday", new, old)
    endings = {fact.object: fact.ending for fact in await diary.facts("scheduled_at")}
    assert endings == {"Monday": ending, "Wednesday": None}


async def test_a_past_that_was_never_told_before_is_kept_as_past(diary: Diary) -> None:
    await diary.tell("2026-05-02", "我2019年住在高雄", "user | lives_in | 高雄 | past, time=2019年")
    assert await diary.now_true("lives_in") == []
    assert await diary.now_true("lives_in", "2019-06-01") == ["高雄"]
    assert await diary.now_true("lives_in", "2020-06-01") == []


async def test_a_past_stay_does_not_end_the_present_one(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我住板橋", "user | lives_in | 板橋")
    await diary.tell("2026-05-02", "我2019年住在高雄", "user | lives_in | 高雄 | past, time=2019年")
    assert await diary.now_true("lives_in") == ["板橋"]
    assert await diary.now_true("lives_in", "2019-06-01") == ["高雄"]


async def test_saying_it_again_makes_it_surer_and_adds_evidence(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我住板橋", "user | lives_in | 板橋")
    [before] = await diary.facts("lives_in")
    await diary.tell("2026-03-09", "我住在板橋啊", "user | lives_in | 板橋")
    [after] = await diary.facts("lives_in")
    assert after.confidence > before.confidence
    assert (after.resource_id, after.evidence) == ("r1", ("r2",))


async def test_what_nobody_is_sure_of_does_not_replace_what_is_sure(diary: Diary) -> None:
    await diary.tell("2026-03-02", "Mina works at Acme", "Mina | works_at | Acme")
    await diary.tell("2026-03-09", "I think Mina is at Globex, maybe", "Mina | works_at | Globex | hedged")
    old, new = await diary.facts("works_at", status=FactStatus.ACTIVE)
    assert new.confidence < old.confidence
    assert (old.conflicts_with, new.conflicts_with) == ((new.fact_id,), (old.fact_id,))
    await diary.tell("2026-03-10", "yes, Mina is at Globex", "Mina | works_at | Globex")
    assert await diary.now_true("works_at") == ["Globex"]


@pytest.mark.parametrize(
    ("plan", "cancelled", "place"),
    [
        ("我十月要去京都", "京都不去了", "京都"),
        ("我十月要去北海道", "北海道不去了", "北海道"),
        ("I'm going to Lisbon in October", "Lisbon is off", "Lisbon"),
    ],
)
async def test_a_plan_is_no_fact_yet_and_can_be_cancelled(diary: Diary, plan: str, cancelled: str, place: str) -> None:
    time = "十月" if "十月" in plan else "in October"
    await diary.tell("2026-03-02", plan, f"user | travels_to | {place} | planned, time={time}")
    [planned] = await diary.facts("travels_to", status=FactStatus.ACTIVE)
    assert (planned.is_planned, planned.valid_from) == (True, day("2026-10-01").replace(hour=0))
    assert await diary.now_true("travels_to", "2026-10-15") == []
    await diary.tell("2026-05-02", cancelled, f"user | travels_to | {place} | ended")
    [fact] = await diary.facts("travels_to")
    assert (fact.status, fact.ending) == (FactStatus.ARCHIVED, Ending.CANCELLED)


async def test_a_plan_does_not_end_the_present_until_it_comes_true(diary: Diary) -> None:
    await diary.tell("2026-03-02", "I work at Acme", "user | works_at | Acme")
    await diary.tell("2026-03-05", "I start at Globex in June", "user | works_at | Globex | planned, time=in June")
    assert await diary.now_true("works_at", "2026-03-06") == ["Acme"]
    await diary.tell("2026-06-03", "I work at Globex now", "user | works_at | Globex")
    assert await diary.now_true("works_at") == ["Globex"]
    assert len(await diary.facts("works_at")) == 2


@pytest.mark.parametrize(
    ("message", "object_"), [("我不吃牛肉", "牛肉"), ("我不吃猪肉", "猪肉"), ("I don't eat pork", "pork")]
)
async def test_what_is_denied_is_known_as_false(diary: Diary, message: str, object_: str) -> None:
    await diary.tell("2026-03-02", message, f"user | eats | {object_} | negated")
    assert await diary.now_true("eats") == [f"not {object_}"]
    await diary.tell("2026-04-02", f"{object_} again!", f"user | eats | {object_}")
    assert await diary.now_true("eats") == [object_]


async def test_when_the_newer_value_is_retracted_the_older_one_holds_again(diary: Diary) -> None:
    await diary.tell("2026-03-02", "my manager is Ana", "user | manager | Ana")
    await diary.tell("2026-03-05", "my manager is Ben", "user | manager | Ben")
    await diary.tell("2026-03-06", "no, Ben is not my manager", "user | manager | Ben | negated", intents="correction")
    assert await diary.now_true("manager") == ["Ana"]
    [ana, ben] = await diary.facts("manager")
    assert (ana.status, ana.ending, ben.ending) == (FactStatus.ACTIVE, None, Ending.RETRACTED)


@pytest.mark.parametrize(
    ("first", "then", "correction", "old", "new", "marks"),
    [
        ("I'm in Leeds", "I moved to York", "I didn't move to York, still in Leeds", "Leeds", "York", ("ended", "")),
        ("我住台北", "我搬到高雄了", "我搞錯了，我沒有搬到高雄，還是住台北", "台北", "高雄", ("negated", "negated")),
        ("我住台北", "我搬到高雄了", "说错了，我没搬到高雄，还是住台北", "台北", "高雄", ("ended", "")),
    ],
)
async def test_a_change_that_was_said_wrongly_never_was(
    diary: Diary, first: str, then: str, correction: str, old: str, new: str, marks: tuple[str, str]
) -> None:
    await diary.tell("2026-03-02", first, f"user | lives_in | {old}")
    await diary.tell("2026-03-05", then, f"user | lives_in | {new}")
    told = [
        f"user | lives_in | {value} | {mark}".removesuffix(" | ") for value, mark in zip((new, old), marks, strict=True)
    ]
    await diary.tell("2026-03-09", correction, *told, intents="correction")
    assert [await diary.now_true("lives_in", date) for date in ("2026-03-03", "2026-03-06")] == [[old], [old]]
    holds, wrong = await diary.facts("lives_in")
    assert (holds.status, holds.valid_from, wrong.ending) == (FactStatus.ACTIVE, None, Ending.RETRACTED)


async def test_what_a_job_archived_comes_back_when_it_is_said_again(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我喜歡爬山", "user | likes | 爬山")
    [fact] = await diary.facts("likes")
    async with diary.record.writing(user_id="ann") as unit:
        await unit.facts.update_status(fact.fact_id, FactStatus.ARCHIVED, now=day("2026-08-01"))
        await unit.commit()
    await diary.tell("2026-09-02", "我喜歡爬山", "user | likes | 爬山")
    [again] = await diary.facts("likes")
    assert (again.fact_id, again.status) == (fact.fact_id, FactStatus.ACTIVE)


async def test_names_of_things_are_the_same_whoever_s_they_are(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我的車停在地下二樓", "我的車 | located_in | 地下二樓")
    await diary.tell("2026-03-03", "車停在地下一樓", "車 | located_in | 地下一樓")
    assert await diary.now_true("located_in") == ["地下一樓"]


async def test_my_sister_is_not_the_brother_whose_name_was_given(diary: Diary) -> None:
    await diary.tell("2026-03-02", "My brother Ben lives in Leeds", "user | sibling | Ben", "Ben | lives_in | Leeds")
    await diary.tell("2026-03-03", "my sister is a nurse", "my sister | occupation | nurse")
    await diary.tell("2026-03-04", "my brother moved to York", "my brother | lives_in | York")
    assert [fact.subject for fact in await diary.facts("occupation")] == ["sister"]
    assert [(fact.subject, fact.object) for fact in await diary.facts("lives_in")][-1] == ("Ben", "York")


async def test_the_name_of_somebody_of_the_user_s_is_not_the_user_s_own(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我叫陳浩", "user | name | 陳浩")
    await diary.tell("2026-03-02", "我做企劃，老闆姓羅", "user | name | 羅", "user | manager | 羅")
    assert await diary.now_true("name") == ["陳浩"]
    assert await diary.now_true("manager") == ["羅"]


async def test_my_husband_is_the_person_whose_name_was_given(diary: Diary) -> None:
    await diary.tell("2026-03-02", "my husband is Rainer", "user | spouse | Rainer")
    await diary.tell("2026-03-03", "My husband works at Bosch", "My husband | works_at | Bosch")
    [fact] = await diary.facts("works_at")
    assert fact.subject == "Rainer"


async def test_facts_are_filed_under_the_six_categories(diary: Diary) -> None:
    await diary.tell(
        "2026-03-02",
        "我住板橋，喜歡爬山，會講日文，想學鋼琴，老婆是美玲，昨天看了展",
        "user | lives_in | 板橋",
        "user | likes | 爬山",
        "user | speaks | 日文",
        "user | wants | 鋼琴",
        "user | spouse | 美玲",
        "user | attended | 展 | time=昨天",
    )
    assert {fact.category for fact in await diary.facts()} == {
        "facts", "preferences", "skills", "goals", "relationships", "events",
    }  # fmt: skip


async def test_a_question_and_chatter_teach_no_facts(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我住哪裡？", intents="question")
    await diary.tell("2026-03-02", "if I lived in Rome", "user | lives_in | Rome", intents="chitchat")
    assert await diary.facts() == []


@pytest.mark.parametrize(
    ("said", "taken_back", "intents"),
    [
        ("我搬到三峽了", "當我沒說，開玩笑的", "correction"),
        ("我搬到三峽了", "我刚刚乱讲的", "correction"),
        ("I moved to 三峽", "scratch that, just kidding", "correction"),
        ("我搬到三峽了", "當我沒說。", "chitchat"),
        ("我搬到三峽了", "开玩笑的啦", "chitchat"),
        ("I moved to 三峽", "Scratch that, I was joking.", "chitchat"),
        ("I moved to 三峽", "I take that back.", "thanks"),
    ],
)
async def test_what_is_taken_back_never_was_and_what_it_had_replaced_holds_again(
    diary: Diary, said: str, taken_back: str, intents: str
) -> None:
    await diary.tell("2026-03-02", "我住板橋", "user | lives_in | 板橋")
    await diary.tell("2026-03-03", "我騎腳踏車上班", "user | commutes_by | 腳踏車")
    await diary.tell("2026-05-02", said, "user | lives_in | 三峽")
    assert await diary.doubtful() == {"腳踏車"}
    await diary.tell("2026-05-02", taken_back, intents=intents)
    assert await diary.now_true("lives_in") == ["板橋"]
    assert await diary.doubtful() == set()


@pytest.mark.parametrize("message", ["She was just kidding about the cake", "他最爱开玩笑", "收回來的書放在櫃子裡"])
async def test_who_tells_of_a_joke_takes_nothing_back(diary: Diary, message: str) -> None:
    await diary.tell("2026-03-02", "I live in Leeds", "user | lives_in | Leeds")
    await diary.tell("2026-03-03", message, intents="chitchat")
    assert await diary.now_true("lives_in") == ["Leeds"]


@pytest.mark.parametrize("limit", [1, 200])
async def test_what_a_statement_changes_does_not_depend_on_how_many_values_came_since(
    diary: Diary, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr("memory.learning.facts.MAX_TIMELINE", limit)
    await diary.tell("2026-01-01", "I like tea", "user | likes | tea")
    await diary.tell("2026-01-02", "I live in Leeds", "user | lives_in | Leeds")
    await diary.tell("2026-01-03", "I own a bike", "user | owns | bike")
    for place, value in enumerate(("jazz", "rain", "cake"), start=4):
        await diary.tell(f"2026-01-0{place}", f"I like {value}", f"user | likes | {value}")
        await diary.tell(f"2026-01-0{place}", f"I own a {value}", f"user | owns | {value}")
    await diary.tell("2026-01-08", "I used to live in Bath", "user | lives_in | Bath | past")
    await diary.tell("2026-02-01", "I do like Tea", "user | likes | Tea")
    await diary.tell("2026-02-02", "I live in York", "user | lives_in | York")
    await diary.tell("2026-02-03", "I sold the bike", "user | sold | bike")
    await diary.tell("2026-02-04", "I no longer like tea", "user | likes | tea | ended")
    await diary.tell("2026-02-05", "no, I don't live in York", "user | lives_in | York | negated", intents="correction")
    [tea, *_] = likes = await diary.facts("likes")
    assert (len(likes), tea.object, tea.evidence, tea.ending) == (4, "tea", ("r11",), Ending.ENDED)
    [bike, *_] = await diary.facts("owns")
    assert (bike.object, bike.ending) == ("bike", Ending.ENDED)
    assert await diary.now_true("lives_in") == ["Leeds"]
