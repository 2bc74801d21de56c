"""What hangs on a changed fact is in doubt until it is said again."""

import pytest

from tests.memory.diary import Diary


@pytest.mark.parametrize(
    ("home", "commute", "gym", "allergy", "move", "old", "new"),
    [
        (
            "我住板橋",
            ("我每天騎腳踏車上班", "user | commutes_by | 腳踏車"),
            ("我在樓下的健身房運動", "user | member_of | 健身房"),
            ("我對花生過敏", "user | allergic_to | 花生"),
            "我搬到三峽了",
            "板橋",
            "三峽",
        ),
        (
            "我住浦东",
            ("我坐地铁上班", "user | commutes_by | 地铁"),
            ("附近的健身房我办了卡", "user | member_of | 健身房"),
            ("我对花生过敏", "user | allergic_to | 花生"),
            "我搬到苏州了",
            "浦东",
            "苏州",
        ),
        (
            "I live in Leeds",
            ("I cycle to work", "user | commutes_by | cycle"),
            ("There is a nice gym round the corner that I go to, FitBox.", "user | member_of | FitBox"),
            ("I'm allergic to peanuts", "user | allergic_to | peanuts"),
            "we moved to York",
            "Leeds",
            "York",
        ),
    ],
)
async def test_a_move_puts_commute_and_the_gym_round_the_corner_in_doubt(
    diary: Diary,
    home: str,
    commute: tuple[str, str],
    gym: tuple[str, str],
    allergy: tuple[str, str],
    move: str,
    old: str,
    new: str,
) -> None:
    await diary.tell("2026-03-02", home, f"user | lives_in | {old}")
    for message, fact in (commute, gym, allergy):
        await diary.tell("2026-03-03", message, fact)
    await diary.tell("2026-05-10", move, f"user | lives_in | {new}")
    assert await diary.doubtful() == {commute[1].split(" | ")[2], gym[1].split(" | ")[2]}
    [moved, _] = await diary.facts("lives_in")
    [doubted] = await diary.facts("commutes_by")
    assert (doubted.doubtful_since, doubted.doubted_by) == (diary.now, moved.fact_id)
    await diary.tell("2026-05-12", commute[0], commute[1])
    assert commute[1].split(" | ")[2] not in await diary.doubtful()


async def test_selling_the_car_ends_owning_it_and_doubts_its_insurance_and_garage(diary: Diary) -> None:
    await diary.tell("2026-03-02", "I drive a Golf", "user | drives | Golf")
    await diary.tell("2026-03-03", "the Golf is parked in bay 17", "Golf | located_in | bay 17")
    await diary.tell("2026-03-04", "the car insurance costs 480 a year", "car insurance | price | 480 a year")
    await diary.tell("2026-03-05", "my bike is red", "bike | colour | red")
    await diary.tell("2026-05-01", "sold the Golf yesterday", "user | sold | Golf | time=yesterday")
    assert await diary.now_true("drives") == []
    assert await diary.doubtful() == {"bay 17", "480 a year"}


@pytest.mark.parametrize(
    ("drives", "car", "garage", "place", "sold", "thing"),
    [
        ("I drive a Kia 3", "Kia 3", "My car is in bay 17", "car | located_in | bay 17", "I sold my car", "car"),
        ("I drive a Kia 3", "Kia 3", "My car is in bay 17", "car | located_in | bay 17", "the Kia is sold", "Kia"),
        ("我開一輛豐田", "豐田", "我的車停在 B2", "車 | located_in | B2", "我上週把車賣了", "車"),
        ("我开一辆丰田", "丰田", "我的车停在 B2", "车 | located_in | B2", "我把丰田卖了", "丰田"),
    ],
)
async def test_a_car_is_sold_by_whatever_name_it_has(
    diary: Diary, drives: str, car: str, garage: str, place: str, sold: str, thing: str
) -> None:
    await diary.tell("2026-03-02", drives, f"user | drives | {car}")
    await diary.tell("2026-03-03", garage, place)
    await diary.tell("2026-05-01", sold, f"user | sold | {thing}")
    assert await diary.now_true("drives") == []
    assert await diary.doubtful() == {place.rpartition(" | ")[2]}


@pytest.mark.parametrize(
    ("owned", "sold"),
    [
        (("drives | Mazda", "drives | Golf"), "car"),
        (("drives | scooter",), "car"),
        (("owns | carpet",), "car"),
        (("owns | 自行车",), "车"),
        (("owns | 車位",), "車"),
    ],
)
async def test_nothing_is_sold_where_it_is_not_clear_what(diary: Diary, owned: tuple[str, ...], sold: str) -> None:
    for thing in owned:
        await diary.tell("2026-03-02", f"I have a {thing}", f"user | {thing}")
    await diary.tell("2026-05-01", f"I sold the {sold}", f"user | sold | {sold}")
    assert [fact.ending for fact in await diary.facts() if fact.predicate != "sold"] == [None] * len(owned)


async def test_a_new_job_puts_manager_and_badge_code_in_doubt_but_not_the_address(diary: Diary) -> None:
    await diary.tell("2026-03-02", "我在台積電上班", "user | works_at | 台積電")
    await diary.tell("2026-03-03", "我主管是林經理", "user | manager | 林經理")
    await diary.tell("2026-03-03", "門禁密碼是 4711", "門禁 | code | 4711")
    await diary.tell("2026-03-03", "我住竹北", "user | lives_in | 竹北")
    await diary.tell("2026-05-10", "我換到聯發科了", "user | works_at | 聯發科")
    assert await diary.doubtful() == {"林經理", "4711"}


async def test_what_is_said_with_the_change_itself_is_not_in_doubt(diary: Diary) -> None:
    await diary.tell("2026-03-02", "I live in Leeds and cycle", "user | lives_in | Leeds", "user | commutes_by | cycle")
    await diary.tell(
        "2026-05-10", "moved to York, I still cycle", "user | lives_in | York", "user | commutes_by | cycle"
    )
    assert await diary.doubtful() == set()


async def test_another_person_s_move_leaves_the_user_s_facts_alone(diary: Diary) -> None:
    await diary.tell("2026-03-02", "I cycle to work", "user | commutes_by | cycle")
    await diary.tell("2026-03-03", "Declan lives in Cork", "Declan | lives_in | Cork")
    await diary.tell("2026-03-03", "Declan takes the bus", "Declan | commutes_by | bus")
    await diary.tell("2026-05-10", "Declan moved to Rotterdam", "Declan | lives_in | Rotterdam")
    assert await diary.doubtful() == {"bus"}


async def test_a_correction_doubts_nothing(diary: Diary) -> None:
    await diary.tell("2026-03-02", "I live in Leeds", "user | lives_in | Leeds")
    await diary.tell("2026-03-02", "I cycle to work", "user | commutes_by | cycle")
    await diary.tell("2026-03-02", "sorry, I meant York", "user | lives_in | York", intents="correction")
    assert await diary.doubtful() == set()


async def test_when_the_change_is_retracted_the_doubt_goes(diary: Diary) -> None:
    await diary.tell("2026-03-02", "I live in Leeds", "user | lives_in | Leeds")
    await diary.tell("2026-03-02", "I cycle to work", "user | commutes_by | cycle")
    await diary.tell("2026-04-02", "we live in York", "user | lives_in | York")
    assert await diary.doubtful() == {"cycle"}
    await diary.tell("2026-04-03", "no, not York", "user | lives_in | York | negated", intents="correction")
    assert await diary.doubtful() == set()
    assert await diary.now_true("lives_in") == ["Leeds"]
