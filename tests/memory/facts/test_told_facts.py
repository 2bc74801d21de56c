"""Whose the facts of a message are: what it only asks teaches nothing, and one thing's value is not another's."""

import pytest

from memory.facts.statements import told_facts
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import Mention, MentionLevel
from memory.values.understanding.readings import Intent, Replacement, Rewrite
from testing.fakes.reader import stated
from tests.memory.diary import Diary


@pytest.mark.parametrize(
    ("told", "home", "question", "asked"),
    [
        ("我住在台北。", "user | lives_in | 台北", "我住在高雄嗎？", "user | lives_in | 高雄"),
        ("我在华为上班。", "user | works_at | 华为", "我是在小米上班吗？", "user | works_at | 小米"),
        ("My son is in York.", "My son | lives_in | York", "Does my son live in Leeds?", "my son | lives_in | Leeds"),
        ("I live in York.", "user | lives_in | York", "I live in Leeds, right?", "user | lives_in | Leeds"),
        ("我住在台北。", "user | lives_in | 台北", "我住在高雄，對嗎？", "user | lives_in | 高雄"),
    ],
)  # fmt: skip
async def test_what_is_only_asked_changes_nothing(
    diary: Diary, told: str, home: str, question: str, asked: str
) -> None:
    await diary.tell("2026-03-02", told, home)
    await diary.tell("2026-03-03", question, asked, intents="question")
    _, predicate, object_ = home.split(" | ")
    [fact] = await diary.facts(predicate)
    assert (fact.object, fact.ending) == (object_, None)


@pytest.mark.parametrize(
    ("message", "fact", "intents"),
    [
        ("我對花生過敏，今晚可以煮什麼？", "user | allergic_to | 花生", "question"),
        ("我上周搬到苏州了，你知道哪里有健身房吗？", "user | lives_in | 苏州", "question"),
        ("I'm allergic to peanuts, what should I cook?", "user | allergic_to | peanuts", "question"),
        ("I moved to York. Is the gym open?", "user | lives_in | York", "question"),
        ("阿土伯養的旺財可以搭高鐵嗎？", "阿土伯 | pet | 旺財", "question"),
        ("Can you remember that I'm allergic to nuts?", "user | allergic_to | nuts", "question, remember"),
    ],
)
async def test_what_a_question_tells_besides_is_learned(diary: Diary, message: str, fact: str, intents: str) -> None:
    await diary.tell("2026-03-02", message, fact, intents=intents)
    assert [known.object for known in await diary.facts()] == [fact.rpartition(" | ")[2]]


@pytest.mark.parametrize(
    ("first", "known", "message", "own", "glued"),
    [
        ("Locker: 4471.", "Locker | code | 4471", "The bike is 9920.", "bike | code | 9920", "Locker | code | 9920"),
        ("房租是 18000。", "房租 | price | 18000", "電話費是 599。", "電話費 | price | 599", "房租 | price | 599"),
        ("我爸在国企。", "我爸 | works_at | 国企", "我妈在医院。", "我妈 | works_at | 医院", "我爸 | works_at | 医院"),
        ("我弟弟的手機是 0912。", "我弟弟 | phone | 0912", "我老闆的手機是 0987。", "", "我弟弟 | phone | 0987"),
        ("Rent is 1,600.", "Rent | price | 1,600", "The Lisbon trip is cancelled.", "", "Rent | status | cancelled"),
        ("Ed is nine.", "Ed | age | nine", "I sold the red car", "", "Ed | owns | car"),
        ("Isla is nine.", "Isla | age | nine", "I've sold the car", "", "Isla | owns | car"),
    ],
)  # fmt: skip
async def test_a_value_is_not_given_to_the_subject_of_an_earlier_message(
    diary: Diary, first: str, known: str, message: str, own: str, glued: str
) -> None:
    await diary.tell("2026-03-02", first, known)
    await diary.tell("2026-03-03", message, *filter(None, (own, glued)))
    expected = [fact.rpartition(" | ")[2] for fact in (known, own) if fact]
    assert [(fact.object, fact.ending) for fact in await diary.facts()] == [(object_, None) for object_ in expected]


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("No, Thursday.", "meeting | scheduled_at | Thursday"),
        ("不是，是週四。", "會議 | scheduled_at | 週四"),
        ("今年六岁，读一年级。", "小雨 | age | 六岁"),
        ("I think it's parked in bay 12", "Skoda | located_in | bay 12"),
        ("the offsite is called off", "Lisbon offsite | status | called off"),
        ("Works at Bosch.", "sister | works_at | Bosch"),
    ],
)
def test_what_says_no_subject_of_its_own_goes_on_about_the_earlier_one(message: str, fact: str) -> None:
    reading = stated(message, fact)
    today = Mention(text=message[:2], start=0, end=2, level=MentionLevel.SESSION, source="deixis.time")
    extraction = Extraction(facts=reading.facts, intents=(Intent.STATEMENT,), mentions=(today,))
    assert told_facts(message, extraction) == list(reading.facts)


def test_a_name_that_the_message_says_again_is_its_own_subject() -> None:
    message = "Rowan can't have nuts, Juniper can"
    rowan, juniper = stated(message, "Rowan | eats | nuts | negated", "Juniper | eats | nuts").facts
    assert rowan.subject is not None
    rowan = rowan.model_copy(update={"subject": rowan.subject.model_copy(update={"turn": 0})})
    assert told_facts(message, Extraction(facts=(rowan, juniper))) == [rowan, juniper]


def test_a_subject_of_an_earlier_message_is_kept_where_a_reference_means_it() -> None:
    message = "We pay 1,200 for the shop"
    facts = stated(message, "shop | price | 1,200", "Spoke & Co | price | 1,200").facts
    meant = Replacement(start=17, end=25, written="Spoke & Co", confidence=0.9)
    rewrite = Rewrite(text="We pay 1,200 for Spoke & Co", replacements=(meant,))
    assert told_facts(message, Extraction(facts=facts, rewrite=rewrite)) == list(facts)
    assert told_facts(message, Extraction(facts=facts)) == [facts[0]]


def test_a_name_in_the_message_is_its_subject() -> None:
    message = "Kate is at Ericsson."
    [fact] = stated(message, "Tom | works_at | Ericsson").facts
    kate = Mention(text="Kate", start=0, end=4)
    assert told_facts(message, Extraction(facts=(fact,), mentions=(kate,))) == []


@pytest.mark.parametrize(
    ("mine", "another", "thing", "name"),
    [
        ("我的車位是 B2-17。", "我老婆的車位是 B3-04。", "車位", "老婆的車位"),
        ("我的车位是 B2-17。", "我同事的车位是 B3-04。", "车位", "同事的车位"),
        ("My parking spot is B2-17.", "My wife's parking spot is B3-04.", "parking spot", "wife's parking spot"),
    ],
)
async def test_the_same_thing_of_somebody_else_is_another_thing(
    diary: Diary, mine: str, another: str, thing: str, name: str
) -> None:
    await diary.tell("2026-03-02", mine, f"{thing} | code | B2-17")
    await diary.tell("2026-03-09", another, f"{thing} | code | B3-04")
    told = [(fact.subject, fact.object, fact.ending) for fact in await diary.facts("code")]
    assert told == [(thing, "B2-17", None), (name, "B3-04", None)]


async def test_a_thing_of_somebody_whose_name_is_known_is_theirs(diary: Diary) -> None:
    await diary.tell("2026-03-02", "my locker is 12", "locker | code | 12")
    await diary.tell("2026-03-03", "Alice Chen's locker is 14", "locker | code | 14")
    assert await diary.now_true("code") == ["12", "14"]
