"""The reader that ships understands plain chat: what every release must hold, in three languages.

How much it understands is measured in `training.reader.evaluate` and `benchmarks.coreference`; these are sentences in
which little can be meant but one thing. A few of each kind may come out wrong: training is not repeatable to the last
sentence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from memory.values.text import to_simplified
from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action, Context, Intent, Qualifier, Reading, ReadRequest
from models.assets.weight_files import shipped_weight_file
from models.reader.features import joined_names
from models.reader.reader import TrainedReader
from training.rewriting.metrics import units_of

WEIGHTS = shipped_weight_file("reader")

_MOST_BYTES = 18_000_000
_PERSON, _ORGANISATION, _PLACE = EntitySubtype.PERSON, EntitySubtype.ORGANISATION, EntitySubtype.PLACE
_PRODUCT, _WORK = EntitySubtype.PRODUCT, EntitySubtype.WORK
_ARTICLES = ("a", "an", "the")


@dataclass(frozen=True)
class Case:
    """A message after its turns, with what must be found: a rewrite, options, names, intents or facts."""

    text: str
    expected: object
    turns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def request(self) -> ReadRequest:
        return ReadRequest(text=self.text, context=Context(turns=self.turns, names=self.names))


_BOX = ("我們公司上個月買了 AI-Box，放在三樓機房。", "好的，我記下了。")
_BOX_HANS = ("我们公司上个月买了 AI-Box，放在三楼机房。", "好的，我记下了。")
_BOX_ENGLISH = ("We bought an AI-Box last month and put it in the server room.", "Got it.")

REWRITTEN = [
    Case("它的保固多久？", "AI-Box的保固多久？", _BOX),
    Case("它多少錢？", "AI-Box多少錢？", _BOX),
    Case("它支援中文嗎", "AI-Box支援中文嗎", _BOX),
    Case("它的保修多久？", "AI-Box的保修多久？", _BOX_HANS),
    Case("它多少钱？", "AI-Box多少钱？", _BOX_HANS),
    Case("它支持中文吗", "AI-Box支持中文吗", _BOX_HANS),
    Case("How much does it cost?", "How much does the AI-Box cost?", _BOX_ENGLISH),
    Case("他住哪裡？", "王小明住哪裡？", ("王小明是我同事。", "你們一起工作很久了嗎？")),
    Case("他电话多少", "李伟电话多少", ("昨天认识了李伟。", "很高兴听到。")),
    Case("她喜歡吃什麼？", "美玲喜歡吃什麼？", ("美玲下週生日", "要準備什麼嗎？")),
    Case("Where does she work?", "Where does Alice work?", ("Alice is my neighbour.", "Nice.")),
    Case("What's his phone number?", "What's Bob's phone number?", ("I met Bob yesterday.", "Good to know.")),
    Case("他們的電話是多少？", "宏康科技的電話是多少？", ("宏康科技今天來報價", "報價多少？")),
    Case("那邊冷嗎？", "札幌冷嗎？", ("我下個月要去札幌", "好棒！")),
    Case("那里冷吗？", "哈尔滨冷吗？", ("我下个月要去哈尔滨", "真好！")),
    Case("What's the weather like there?", "What's the weather like in Lisbon?", ("I'm flying to Lisbon.", "Fun!")),
]  # fmt: skip
REMEMBERED = [
    Case(text, expected, turns=(greeting, greeting), names=("AI-Box",))
    for greeting, text, expected in (
        ("早安", "它多少錢？", "AI-Box多少錢？"),
        ("早安", "那台機器的保固多久？", "AI-Box的保固多久？"),
        ("早安", "上次說的那個系統多少錢？", "AI-Box多少錢？"),
        ("早安", "上週提到的系統支援中文嗎？", "AI-Box支援中文嗎？"),
        ("早安", "它支持中文吗？", "AI-Box支持中文吗？"),
        ("早安", "之前说的那个系统多少钱", "AI-Box多少钱"),
        ("Hi!", "How much does it cost?", "How much does AI-Box cost?"),
        ("Hi!", "How much does that system cost?", "How much does AI-Box cost?"),
        ("Hi!", "How much is the one from last week?", "How much is AI-Box?"),
    )
]
"""What another session said: only the names of long-term memory tell."""
_HCI = ("宏康 HCI 上週裝好了。", "好的，我記下了。")
REFERABLE = [
    Case("這個系統穩定嗎？", "宏康 HCI穩定嗎？", _HCI),
    Case("這個產品的保固多久？", "宏康 HCI的保固多久？", _HCI),
    Case("它多少錢？", "宏康 HCI多少錢？", _HCI),
    Case("這個系統多少錢？", "宏康 HCI多少錢？", ("早安", "早安"), ("宏康 HCI",)),
    Case("這個產品支援中文嗎？", "宏康 HCI支援中文嗎？", ("早安", "早安"), ("宏康 HCI",)),
    Case("上次說的那個系統的保固多久？", "宏康 HCI的保固多久？", ("早安", "早安"), ("宏康 HCI",)),
]
"""000 §3.1's product that has the name of a company."""
LEFT_ALONE = [
    Case(text, text, turns)
    for turns, texts in (
        (
            _BOX,
            (
                "明天會下雨嗎？", "謝謝你", "好的", "我老婆叫美玲", "幫我訂兩張去高雄的高鐵票", "AI-Box 多少錢？",
                "外面又下雨了。", "推薦一部電影", "現在幾點", "我肚子餓了",
            ),
        ),
        (_BOX_HANS, ("明天会下雨吗？", "谢谢", "我老婆叫美玲", "推荐一部电影", "外面又下雨了。", "今天星期几")),
        (
            _BOX_ENGLISH,
            (
                "Will it rain tomorrow?", "Thanks a lot!", "My wife's name is Carol.", "Tell me a joke.",
                "What time is it?", "I'm hungry.", "Book a table for two in Rome.",
            ),
        ),
    )
    for text in texts
]  # fmt: skip
ASKED_BACK = [
    Case("它多少錢？", {"AI-Box", "宏康 HCI"}, ("AI-Box 和宏康 HCI 我都想買。", "兩個都不錯。")),
    Case("它多少钱？", {"小米手环", "华为手表"}, ("小米手环和华为手表我都想买。", "都不错。")),
    Case("他今天來嗎？", {"小王", "小李"}, ("小王和小李都說想來", "好的")),
    Case("他今天来吗？", {"小王", "小李"}, ("小王和小李都说想来", "好的")),
    Case("How much is it?", {"Kindle", "iPad"}, ("I'm thinking about a Kindle or an iPad.", "Both are good.")),
    Case("Is she coming?", {"Alice", "Carol"}, ("Alice and Carol were both invited.", "Great.")),
]
NAMED = [
    Case("王小明在台積電上班", [("王小明", _PERSON), ("台積電", _ORGANISATION)]),
    Case("我住板橋", [("板橋", _PLACE)]),
    Case("我們公司買了 AI-Box", [("AI-Box", _PRODUCT)]),
    Case("最近在看《三體》", [("三體", _WORK)]),
    Case("我老婆美玲是國小老師", [("美玲", _PERSON)]),
    Case("下週要去東京出差", [("東京", _PLACE)]),
    Case("张伟昨天去了北京", [("张伟", _PERSON), ("北京", _PLACE)]),
    Case("我在腾讯上班", [("腾讯", _ORGANISATION)]),
    Case("Ann works at Siemens in Munich.", [("Ann", _PERSON), ("Siemens", _ORGANISATION), ("Munich", _PLACE)]),
    Case("i'm meeting sarah in boston", [("sarah", _PERSON), ("boston", _PLACE)]),
    Case("My laptop is a ThinkPad X1.", [("ThinkPad X1", _PRODUCT)]),
    Case("今天天氣真好", []),
    Case("謝謝你的幫忙", []),
    Case("I'm so tired today.", []),
    Case("明天几点开会？", []),
]
MEANT = [
    Case("你好", Intent.GREETING),
    Case("早安", Intent.GREETING),
    Case("Hi there!", Intent.GREETING),
    Case("謝謝你", Intent.THANKS),
    Case("thanks a lot", Intent.THANKS),
    Case("AI-Box 多少錢？", Intent.QUESTION),
    Case("我老婆的生日是哪天", Intent.QUESTION),
    Case("Where do I live?", Intent.QUESTION),
    Case("請記住，我的車牌是 ABC-1234", Intent.REMEMBER),
    Case("记住我对花生过敏", Intent.REMEMBER),
    Case("Remember that my flight is at 9.", Intent.REMEMBER),
    Case("忘掉我的地址", Intent.FORGET),
    Case("把我的电话删掉吧，别再记着了", Intent.FORGET),
    Case("Forget my old address.", Intent.FORGET),
    Case("不是，我是說二樓的機房", Intent.CORRECTION, ("三樓機房的鑰匙在哪？", "三樓機房的鑰匙在櫃台。")),
    Case("No, I meant Thursday.", Intent.CORRECTION, ("Dentist on Tuesday at 10.", "Noted: Tuesday at 10.")),
    Case("我住在板橋", Intent.STATEMENT),
    Case("I work at a bank.", Intent.STATEMENT),
    Case("幫我訂一間餐廳", Intent.REQUEST),
    Case("Write me a short poem.", Intent.REQUEST),
]
STATED = [
    Case("我住板橋", ("", "lives_in", "板橋")),
    Case("我住在成都", ("", "lives_in", "成都")),
    Case("I live in Boston.", ("", "lives_in", "Boston")),
    Case("我在台積電上班", ("", "works_at", "台積電")),
    Case("I work at Siemens.", ("", "works_at", "Siemens")),
    Case("我對花生過敏", ("", "allergic_to", "花生")),
    Case("I'm allergic to peanuts.", ("", "allergic_to", "peanuts")),
    Case("我老婆叫美玲", ("", "spouse", "美玲")),
    Case("My wife is Carol.", ("", "spouse", "Carol")),
    Case("我叫王小明", ("", "name", "王小明")),
    Case("我喜歡貓", ("", "likes", "貓")),
    Case("王小明住在高雄", ("王小明", "lives_in", "高雄")),
    Case("Ann lives in Munich.", ("Ann", "lives_in", "Munich")),
    Case("我的生日是三月五日", ("", "birthday", "三月五日")),
]


def is_rewritten(case: Case, reading: Reading) -> bool:
    def units(text: str) -> list[str]:
        return [unit for unit in units_of(text) if unit not in _ARTICLES]

    return units(reading.rewrite.text) == units(str(case.expected))


def is_left_alone(case: Case, reading: Reading) -> bool:
    return (reading.rewrite.action, reading.rewrite.text) == (Action.KEEP, case.text)


def is_asked(case: Case, reading: Reading) -> bool:
    if reading.rewrite.action is not Action.ASK:
        return False
    (replacement,) = reading.rewrite.replacements
    return case.expected == {span.text for span in (*replacement.antecedents[:1], *replacement.alternatives)}


def is_named(case: Case, reading: Reading) -> bool:
    return case.expected == [(case.text[name.start : name.end], name.subtype) for name in reading.names]


def is_meant(case: Case, reading: Reading) -> bool:
    return case.expected in [intent for intent, _ in reading.intents]


def is_stated(case: Case, reading: Reading) -> bool:
    facts = [(fact.subject.text if fact.subject else "", fact.predicate, fact.object.text) for fact in reading.facts]
    return case.expected in facts


KINDS: dict[str, tuple[Sequence[Case], Callable[[Case, Reading], bool], float]] = {
    "rewritten": (REWRITTEN, is_rewritten, 0.8),
    "remembered": (REMEMBERED, is_rewritten, 0.5),
    "referable": (REFERABLE, is_rewritten, 0.6),
    "left alone": (LEFT_ALONE, is_left_alone, 0.9),
    "asked back": (ASKED_BACK, is_asked, 0.5),
    "named": (NAMED, is_named, 0.8),
    "meant": (MEANT, is_meant, 0.9),
    "stated": (STATED, is_stated, 0.7),
}
"""The cases of each kind, how they are judged, and the share that must be right."""


@pytest.fixture(scope="module")
def reader(e5_folder: Path) -> TrainedReader:
    return TrainedReader(WEIGHTS, e5_folder.parent, threads=1)


@pytest.fixture(scope="module")
def readings(reader: TrainedReader) -> dict[str, list[Reading]]:
    """Every case of each kind, read in one call."""
    read = iter(reader.read([case.request for cases, _, _ in KINDS.values() for case in cases]))
    return {kind: [next(read) for _ in cases] for kind, (cases, _, _) in KINDS.items()}


def test_the_file_is_small_and_has_a_card() -> None:
    assert WEIGHTS.stat().st_size < _MOST_BYTES
    assert WEIGHTS.with_suffix(".json").exists()
    assert "licence" in WEIGHTS.with_suffix(".md").read_text(encoding="utf-8").lower()


@pytest.mark.parametrize("kind", KINDS)
def test_plain_chat_is_understood(kind: str, readings: dict[str, list[Reading]]) -> None:
    cases, is_right, least = KINDS[kind]
    wrong = [
        f"{case.text}: {case.expected}, read {_shown(kind, reading)}"
        for case, reading in zip(cases, readings[kind], strict=True)
        if not is_right(case, reading)
    ]
    assert len(wrong) <= (1 - least) * len(cases), "\n".join(wrong)


def _shown(kind: str, reading: Reading) -> object:
    return {"named": reading.names, "meant": reading.intents, "stated": reading.facts}.get(kind, reading.rewrite)


def test_offsets_are_into_the_message_and_its_turns(readings: dict[str, list[Reading]]) -> None:
    for kind, (cases, _, _) in KINDS.items():
        for case, reading in zip(cases, readings[kind], strict=True):
            end = 0
            for name in reading.names:
                assert end <= name.start < name.end <= len(case.text)
                assert 0.0 < name.score <= 1.0
                end = name.end
            for fact in reading.facts:
                assert case.text[fact.object.start : fact.object.end] == fact.object.text
            for replacement in reading.rewrite.replacements:
                assert 0 <= replacement.start <= replacement.end <= len(case.text)
                for span in (*replacement.antecedents, *replacement.alternatives):
                    source = joined_names(case.names) if span.turn is None else case.turns[span.turn]
                    assert source[span.start : span.end] == span.text


def test_both_scripts_are_read_alike(reader: TrainedReader) -> None:
    text = "王小明說台積電的廠房在高雄橋頭，訂了《百年孤寂》。"
    traditional, simplified = reader.read([ReadRequest(text=text), ReadRequest(text=to_simplified(text))])
    assert [text[name.start : name.end] for name in traditional.names][:2] == ["王小明", "台積電"]
    assert [(name.start, name.end, name.label) for name in traditional.names] == [
        (name.start, name.end, name.label) for name in simplified.names
    ]


def test_a_name_of_long_term_memory_has_no_turn(reader: TrainedReader) -> None:
    request = ReadRequest(text="它多少錢？", context=Context(turns=("早安", "早安！"), names=("AI-Box",)))
    (reading,) = reader.read([request])
    (replacement,) = reading.rewrite.replacements
    assert [(span.text, span.turn) for span in replacement.antecedents] == [("AI-Box", None)]


@pytest.mark.parametrize(
    ("text", "held", "qualifier"),
    [
        ("I used to live in Tainan.", "Tainan", Qualifier.PAST),
        ("我不吃香菜", "香菜", Qualifier.NEGATED),
        ("我下個月要去東京", "東京", Qualifier.PLANNED),
    ],
)
def test_how_a_fact_holds_is_read(reader: TrainedReader, text: str, held: str, qualifier: Qualifier) -> None:
    (reading,) = reader.read([ReadRequest(text=text)])
    assert [(fact.object.text, fact.qualifiers) for fact in reading.facts] == [(held, (qualifier,))]


@pytest.mark.parametrize(
    "text", ["Forget my locker code", "刪除所有關於怡君的記憶", "把那件事忘掉", "please forget that"]
)
def test_a_plain_request_to_forget_is_carried_out(reader: TrainedReader, text: str) -> None:
    (reading,) = reader.read([ReadRequest(text=text)])
    assert reading.forgets_surely
    assert Intent.FORGET in dict(reading.intents)


@pytest.mark.parametrize(
    "text",
    [
        "List all the hobbies I've got on the go.",
        "列出我所有的嗜好",
        "我說過的嗜好你刪了沒？",
        "Did you delete my hobby?",
        "my locker code is 4471, in case I forget",
    ],
)
def test_what_only_speaks_of_forgetting_removes_nothing(reader: TrainedReader, text: str) -> None:
    (reading,) = reader.read([ReadRequest(text=text)])
    assert not reading.forgets_surely


def test_any_text_is_read(reader: TrainedReader) -> None:
    texts = ["", " \n", "😀" * 40, "https://example.org/" + "a" * 900, "字" * 3000, "\ud800", "很長的句子。" * 120]
    for text, reading in zip(texts, reader.read([ReadRequest(text=text) for text in texts]), strict=True):
        assert (reading.rewrite.action, reading.rewrite.text) == (Action.KEEP, text)
        assert bool(reading.intents) == bool(text.strip())
