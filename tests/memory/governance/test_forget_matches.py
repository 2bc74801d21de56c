"""What a request to forget means is what has most of its words, the rare ones above all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.governance.forget_matches import best_matches, match_words
from memory.governance.forget_targets import find_target
from memory.language.keywords import KeywordAnalyzer
from memory.values.facts import FactStatus
from tests.memory.diary import Diary, memory_of

LIVES = (
    "這邊房租一個月一萬六，兩個人各出一半",
    "獸醫院看一次一千二",
    "房東說要裝冷氣",
    "交換獎學金一個月有 2 萬 4",
)


async def tell_all(diary: Diary) -> None:
    for number, text in enumerate(LIVES, 2):
        await diary.tell(f"2026-03-0{number}", text, *(["獸醫院 | price | 一千二"] if "獸醫" in text else []))


@pytest.mark.parametrize(
    ("request_", "gone"),
    [
        ("之前講的房租多少那件事請幫我刪掉，房東不喜歡我到處說", LIVES[0]),
        ("剛講獎學金的金額請你刪掉，那不能公開", LIVES[3]),
    ],
)
async def test_words_that_nothing_has_and_the_reason_given_do_not_hide_what_is_meant(
    diary: Diary, request_: str, gone: str
) -> None:
    await tell_all(diary)
    await diary.tell("2026-03-09", request_, intents="forget")
    assert set(LIVES) - set(await diary.memories()) == {gone}


async def test_words_that_are_there_only_without_the_name_of_a_predicate_count_too(diary: Diary) -> None:
    await tell_all(diary)
    await diary.tell("2026-03-08", "我每天吃血壓藥", "user | medication | 血壓藥")
    await diary.tell("2026-03-09", "忘掉我吃藥的事", intents="forget")
    assert set(await diary.memories()) == set(LIVES)


async def test_what_shares_only_a_common_word_is_not_removed(diary: Diary) -> None:
    await tell_all(diary)
    await diary.tell("2026-03-09", "請刪掉我一個月的健身房會費", intents="forget")
    assert set(await diary.memories()) == set(LIVES)


async def test_what_a_message_says_itself_is_not_kept_though_other_things_share_a_word(diary: Diary) -> None:
    await tell_all(diary)
    message = "車貸一個月還剩八千，這個別記，忘掉"
    await diary.tell("2026-03-09", message, "車貸 | price | 八千", intents="forget")
    assert set(await diary.memories()) == set(LIVES)
    assert [fact.object for fact in await diary.facts() if fact.status is FactStatus.ACTIVE] == ["一千二"]


async def test_of_two_things_with_a_word_in_common_the_one_that_is_named_goes(diary: Diary) -> None:
    await diary.tell("2026-03-02", "my locker at the pool has code 4056", "locker at the pool | code | 4056")
    await diary.tell("2026-03-03", "the pool opens at six", intents="statement")
    await diary.tell("2026-03-09", "delete the code of my locker at the pool", intents="forget")
    assert await diary.memories() == ["the pool opens at six"]


WORDS = (
    "我的",
    "吃藥",
    "密碼",
    "不能吃",
    "忘掉",
    "把",
    "房租",
    "那個",
    "my ",
    "locker ",
    "code ",
    "forget ",
    "number ",
    "，",
    ". ",
    "4056 ",
)


@given(st.lists(st.sampled_from(WORDS), max_size=8).map("".join))
def test_any_request_means_something_or_nothing(request_: str) -> None:
    target = find_target(request_, KeywordAnalyzer())
    assert match_words(target, [], [], KeywordAnalyzer()) == []
    if not target.points_back:
        matches = match_words(target, [], [memory_of(text) for text in (*LIVES, request_)], KeywordAnalyzer())
        found = best_matches(matches, target)
        assert all(0 <= match.score <= 1 + 1e-9 for match in found.matches)
