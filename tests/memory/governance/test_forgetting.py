"""Forgetting in chat: what is meant is found and removed at once, or asked about; it is never quoted again."""

import pytest

from memory.governance.forget_targets import find_target
from memory.language.keywords import KeywordAnalyzer
from memory.values.facts import FactStatus
from memory.values.governance.changes import ChangeKind
from tests.memory.diary import Diary

CODES = [
    ("我的置物櫃密碼是 4056", "置物櫃", "忘掉我的置物櫃密碼"),
    ("我的储物柜密码是 4056", "储物柜", "把我的储物柜密码删掉"),
    ("my locker code is 4056", "locker", "Please delete my locker combo, I don't swim there any more."),
]


@pytest.mark.parametrize(("told", "thing", "request_"), CODES)
async def test_what_is_meant_is_removed_from_facts_and_memories(
    diary: Diary, told: str, thing: str, request_: str
) -> None:
    await diary.tell("2026-03-02", told, f"{thing} | code | 4056")
    await diary.tell("2026-03-02", "我住板橋", "user | lives_in | 板橋")
    await diary.tell("2026-03-03", "4056, in case you wonder", intents="statement")
    await diary.tell("2026-03-09", request_, intents="forget")
    assert await diary.memories() == ["我住板橋"]
    facts = await diary.facts()
    assert [fact.object for fact in facts if fact.status is not FactStatus.DELETED] == ["板橋"]
    assert "4056" not in str(facts)
    assert set(diary.to_erase) == {"r1", "r3", "r4"}


@pytest.mark.parametrize(("told", "thing", "request_"), CODES)
async def test_the_log_of_changes_quotes_neither_the_secret_nor_the_request(
    diary: Diary, told: str, thing: str, request_: str
) -> None:
    await diary.tell("2026-03-02", told, f"{thing} | code | 4056")
    await diary.tell("2026-03-09", request_, intents="forget")
    async with diary.record.reading(user_id="ann") as unit:
        [change] = await unit.changes.list(kind=ChangeKind.FORGET)
    assert thing not in str(change)
    assert "4056" not in str(change)
    assert {"r1", "r2", *(fact.fact_id for fact in await diary.facts())} <= set(change.subjects)


async def test_every_value_that_it_ever_had_is_forgotten(diary: Diary) -> None:
    await diary.tell("2026-03-02", "I weigh 80 kg", "user | weight | 80 kg")
    await diary.tell("2026-04-02", "I weigh 78 kg", "user | weight | 78 kg")
    await diary.tell("2026-04-09", "Forget my weight, it's out of date", intents="forget")
    assert await diary.memories() == []
    assert {fact.status for fact in await diary.facts()} == {FactStatus.DELETED}


async def test_my_birthday_is_not_my_mother_s(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我的生日是五月三號", "user | birthday | 五月三號")
    await diary.tell("2026-03-02", "我媽的生日是七月一號", "媽 | birthday | 七月一號")
    await diary.tell("2026-03-09", "請忘掉我的生日", intents="forget")
    assert await diary.memories() == ["我媽的生日是七月一號"]


@pytest.mark.parametrize(
    ("first", "second", "request_"),
    [
        ("學校的置物櫃密碼是 4056", "健身房的置物櫃密碼是 8813", "忘掉置物櫃密碼"),
        ("the locker at school has code 4056", "the gym locker has code 8813", "forget the locker code"),
    ],
)
async def test_where_several_things_could_be_meant_none_is_removed(
    diary: Diary, first: str, second: str, request_: str
) -> None:
    subjects = ("學校的置物櫃", "健身房的置物櫃") if "置物櫃" in first else ("locker at school", "gym locker")
    await diary.tell("2026-03-02", first, f"{subjects[0]} | code | 4056")
    await diary.tell("2026-03-03", second, f"{subjects[1]} | code | 8813")
    await diary.tell("2026-03-09", request_, intents="forget")
    assert await diary.memories() == [first, second]
    assert {fact.status for fact in await diary.facts()} == {FactStatus.ACTIVE}
    assert diary.to_erase == ("r3",)


@pytest.mark.parametrize(
    ("first", "second", "name", "request_"),
    [
        ("王小明在台積電上班", "王小明喜歡爬山", "王小明", "刪除所有關於王小明的記憶"),
        ("王小明在台积电上班", "王小明喜欢爬山", "王小明", "删除所有关于王小明的记忆"),
    ],
)
async def test_everything_about_a_person_is_removed_with_the_person(
    diary: Diary, first: str, second: str, name: str, request_: str
) -> None:
    await diary.tell("2026-03-02", first, f"{name} | works_at | {first[4:7]}")
    await diary.tell("2026-03-03", second, f"{name} | likes | 爬山")
    await diary.tell("2026-03-03", "我住板橋", "user | lives_in | 板橋")
    await diary.tell("2026-03-09", request_, intents="forget")
    assert await diary.memories() == ["我住板橋"]
    async with diary.record.reading(user_id="ann") as unit:
        assert await unit.entities.get_by_value(name) is None
    assert [fact.object for fact in await diary.facts() if fact.status is not FactStatus.DELETED] == ["板橋"]


@pytest.mark.parametrize("request_", ["把我弟的事忘掉", "忘掉我弟弟", "刪除所有關於我弟弟的記憶"])
async def test_a_relative_is_forgotten_with_everything_about_him(diary: Diary, request_: str) -> None:
    await diary.tell(
        "2026-03-02", "我弟弟王小明在新竹當工程師", "user | sibling | 王小明", "王小明 | occupation | 工程師"
    )
    await diary.tell("2026-03-02", "王小明的生日是五月三號", "王小明 | birthday | 五月三號")
    await diary.tell("2026-03-02", "我弟最近在學日文", "我弟 | learning | 日文")
    await diary.tell("2026-03-03", "我妹妹林小美住板橋", "user | sibling | 林小美", "林小美 | lives_in | 板橋")
    await diary.tell("2026-03-09", request_, intents="forget")
    assert await diary.memories() == ["我妹妹林小美住板橋"]
    facts = [fact.object for fact in await diary.facts() if fact.status is not FactStatus.DELETED]
    assert facts == ["林小美", "板橋"]


@pytest.mark.parametrize("request_", ["把那件事忘掉", "把这件事忘掉", "please forget that", "forget what I said"])
async def test_forget_that_means_what_was_said_last(diary: Diary, request_: str) -> None:
    await diary.tell("2026-03-02", "我住板橋", "user | lives_in | 板橋")
    await diary.tell("2026-03-02", "I failed the exam", "user | happened | failed the exam")
    await diary.tell("2026-03-02", request_, intents="forget")
    assert await diary.memories() == ["我住板橋"]


async def test_what_a_message_itself_does_not_want_kept_is_never_learned(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我住板橋", "user | lives_in | 板橋")
    await diary.tell("2026-03-02", "rent is R18 500, don't store it", intents="forget, statement")
    assert await diary.memories() == ["我住板橋"]
    assert diary.to_erase == ("r2",)


async def test_a_message_without_facts_is_found_by_its_words(diary: Diary) -> None:
    await diary.tell("2026-03-02", "I kissed Agnieszka at the christmas party", intents="statement")
    await diary.tell("2026-03-03", "the party was long", intents="statement")
    await diary.tell("2026-03-09", "forget that I kissed Agnieszka", intents="forget")
    assert await diary.memories() == ["the party was long"]


async def test_what_is_not_there_removes_nothing(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我住板橋", "user | lives_in | 板橋")
    await diary.tell("2026-03-09", "忘掉我的血型", intents="forget")
    assert await diary.memories() == ["我住板橋"]


@pytest.mark.parametrize("request_", ["把那件事忘掉", "忘了吧", "刪掉", "please forget that", "delete it"])
def test_a_request_without_words_of_its_own_points_back(request_: str) -> None:
    assert find_target(request_, KeywordAnalyzer()).points_back


async def test_what_may_be_a_request_removes_nothing(diary: Diary) -> None:
    await diary.tell("2026-03-02", "My hobby is pottery, 嗜好是陶藝", "user | hobby | pottery")
    await diary.tell("2026-03-09", "Did you delete my hobby?", intents="forget", surely=False)
    assert await diary.memories() == ["My hobby is pottery, 嗜好是陶藝"]


async def test_who_is_named_after_the_request_stays(diary: Diary) -> None:
    await diary.tell("2026-03-02", "王小明在台積電上班", "王小明 | works_at | 台積電")
    await diary.tell("2026-03-03", "林小美住板橋", "林小美 | lives_in | 板橋")
    await diary.tell("2026-03-09", "刪除所有關於王小明的記憶，林小美的留著", intents="forget")
    assert await diary.memories() == ["林小美住板橋"]
