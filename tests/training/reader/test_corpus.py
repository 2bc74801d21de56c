from collections.abc import Sequence
from pathlib import Path

import pytest

from memory.values.predicates import OTHER
from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action, Intent, MessageKind, Qualifier
from models.body.edit_units import split_edit_units
from training.names.ner_files import NamedSpan
from training.reader.corpus import (
    MarkedFact,
    MarkedMessage,
    MarkedQuery,
    MarkedReference,
    read_intents,
    read_messages,
    read_queries,
    read_talks,
)
from training.shared.chat_corpus import LANGUAGES, part_of
from training.shared.data_sets import Part

OURS = Path(__file__).parents[3] / "training" / "data" / "chat_corpus"

REFERENCES = """\
# thing
U: 我買了一台 AI-Box
A: 好的
Q: {它|AI-Box}的保固多久？
Q: 附近有{|AI-Box}門市嗎？

Q: 外面又下雨了。
---
# ambiguous
U: AI-Box 和宏康 HCI 我都想買
Q: {它|?AI-Box?宏康 HCI}多少錢，{|AI-Box}呢？
---
# plural
U: 小王和小李來了
Q: {他們|小王+小李}住哪裡？
---
"""
ENGLISH = """\
U: Alice and Bob called
Q: Does {her|Alice|Alice's} manager agree with {them|Alice + Bob}?
"""
MESSAGES = """\
U: 你老婆呢
A: 請說
M: 我在[台積電|organisation]上班，老婆[美玲|person]是國小老師。
I: statement, remember
F: user | works_at | 台積電
F: 美玲 | occupation | 國小老師 | past, hedged, time=去年
F: 美玲 | other:is | 老師
---
M: 你好
I: greeting
---
U: 只有歷史，沒有訊息
---
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("references/zh-Hant-e1.txt", REFERENCES),
        ("references/en-a6.txt", ENGLISH),
        ("messages/zh-Hant-e1.txt", MESSAGES),
        ("messages/zh-Hans-m3.txt", "M: 你好\nI: greeting\n"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_query_has_its_history_and_what_it_means(folder: Path) -> None:
    first, gap, alone, ambiguous, plural = read_queries([folder], Part.TRAIN)
    assert first == MarkedQuery(
        id="zh-Hant-e1-4",
        language="zh-Hant",
        category="thing",
        turns=("我買了一台 AI-Box", "好的"),
        query="它的保固多久？",
        target="AI-Box的保固多久？",
        action=Action.REWRITE,
        references=(MarkedReference(0, 1, antecedents=("AI-Box",)),),
    )
    assert (gap.query, gap.target) == ("附近有門市嗎？", "附近有AI-Box門市嗎？")
    assert gap.references[0].start == gap.references[0].end == 3
    assert (alone.action, alone.target, alone.references) == (Action.KEEP, alone.query, ())
    assert (plural.query, plural.target) == ("他們住哪裡？", "小王和小李住哪裡？")
    assert plural.references[0].antecedents == ("小王", "小李")
    assert ambiguous.category == "ambiguous"


def test_a_query_to_ask_back_has_its_options_and_no_other_meaning(folder: Path) -> None:
    ambiguous = read_queries([folder], Part.TRAIN)[3]
    assert ambiguous.action is Action.ASK
    assert ambiguous.query == ambiguous.target == "它多少錢，呢？"
    assert ambiguous.references == (
        MarkedReference(0, 1, options=("AI-Box", "宏康 HCI")),
        MarkedReference(5, 5, antecedents=("AI-Box",)),
    )


def test_what_is_written_may_differ_from_the_antecedent(folder: Path) -> None:
    (query,) = read_queries([folder], Part.TUNE)
    assert query.query == "Does her manager agree with them?"
    assert query.target == "Does Alice's manager agree with Alice and Bob?"
    assert [query.query[reference.start : reference.end] for reference in query.references] == ["her", "them"]


def test_a_message_has_names_intents_and_facts(folder: Path) -> None:
    message, greeting = read_messages([folder], Part.TRAIN)
    assert message == MarkedMessage(
        id="zh-Hant-e1-3",
        language="zh-Hant",
        turns=("你老婆呢", "請說"),
        text="我在台積電上班，老婆美玲是國小老師。",
        names=(NamedSpan(2, 5, "organisation"), NamedSpan(10, 12, "person")),
        intents=(Intent.STATEMENT, Intent.REMEMBER),
        facts=(
            MarkedFact("", "works_at", "台積電"),
            MarkedFact("美玲", "occupation", "國小老師", (Qualifier.PAST, Qualifier.HEDGED), "去年"),
            MarkedFact("美玲", OTHER, "老師"),
        ),
    )
    assert (greeting.text, greeting.turns, greeting.facts) == ("你好", (), ())


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("references/zh-Hant-a3.txt", Part.REPORT),
        ("references/en-f2.txt", Part.REPORT),
        ("references/en-c3.txt", Part.TUNE),
        ("references/en-c4.txt", Part.TRAIN),
        ("references/zh-Hans-m5.txt", Part.TRAIN),
        ("messages/zh-Hans-m5.txt", Part.TUNE),
        ("messages/en-n6.txt", Part.REPORT),
    ],
)
def test_a_file_is_in_one_part(name: str, part: Part) -> None:
    assert part_of(Path(name)) is part


def test_parts_of_several_folders_are_read_apart(folder: Path) -> None:
    assert [message.id for message in read_messages([folder], Part.REPORT)] == ["zh-Hans-m3-1"]
    assert read_messages([folder], Part.TUNE) == []
    assert len(read_queries([folder, folder], Part.TUNE)) == 2


@pytest.fixture(scope="module")
def our_queries() -> list[MarkedQuery]:
    return [query for part in Part for query in read_queries([OURS], part)]


@pytest.fixture(scope="module")
def our_messages() -> list[MarkedMessage]:
    return [message for part in Part for message in read_messages([OURS], part)]


def stands_in(words: str, texts: Sequence[str]) -> bool:
    """Whether words stand there, whatever their case, width and spaces."""

    def folded(text: str) -> str:
        return "".join(unit.key for unit in split_edit_units(text))

    whole = "\n".join(texts)
    return words in whole or folded(words) in folded(whole)


def test_our_queries_have_every_language_and_action_and_no_mark_left(our_queries: list[MarkedQuery]) -> None:
    assert {query.language for query in our_queries} == set(LANGUAGES)
    assert {query.action for query in our_queries} == set(Action)
    for query in our_queries:
        assert not set("{}|") & set(query.query + query.target), query.id
        assert query.query == query.target or query.action is Action.REWRITE, query.id


def test_antecedents_and_options_of_our_queries_stand_in_their_history(our_queries: list[MarkedQuery]) -> None:
    for query in our_queries:
        for reference in query.references:
            for words in (*reference.antecedents, *reference.options):
                assert stands_in(words, query.turns), query.id
            assert len(reference.options) != 1, query.id


def test_our_messages_have_intents_and_known_labels(our_messages: list[MarkedMessage]) -> None:
    assert {message.language for message in our_messages} == set(LANGUAGES)
    subtypes = {subtype.value for subtype in EntitySubtype}
    for message in our_messages:
        assert message.intents, message.id
        assert {name.label for name in message.names} <= subtypes, message.id
        assert not set("[]|") & set(message.text), message.id


def test_facts_of_our_messages_are_in_the_words_of_the_conversation(our_messages: list[MarkedMessage]) -> None:
    absent = [
        (message.id, words)
        for message in our_messages
        for fact in message.facts
        for words in (fact.subject, fact.object, fact.time)
        if words != "user" and not stands_in(words, (*message.turns, message.text))
    ]
    assert len(absent) <= 1, absent


def test_messages_of_which_the_intents_alone_are_marked(tmp_path: Path) -> None:
    (tmp_path / "intents").mkdir()
    block = "U: my code is 4711\nM: scrap that\nI: forget\nX: code\n---\nM: thanks!\nI: thanks, chitchat\n"
    (tmp_path / "intents" / "en-q1.txt").write_text(block, encoding="utf-8")
    [scrapped, thanked] = read_intents([tmp_path], Part.TRAIN)
    assert (scrapped.text, scrapped.turns) == ("scrap that", ("my code is 4711",))
    assert (scrapped.intents, scrapped.is_whole) == ((Intent.FORGET,), False)
    assert thanked.intents == (Intent.THANKS, Intent.CHITCHAT)


def test_messages_of_a_talk_are_read_after_what_was_said_before_them(tmp_path: Path) -> None:
    (tmp_path / "talks").mkdir()
    block = (
        "@ 2026-03-02\nmemory/statement: the shed is 4417\nmemory/question: and {|the shed|the shed }before?\n"
        "A: I don't know that.\n@ 2026-03-03\nmemory/forget+statement: bin it, it's changed\n---\n"
    )
    (tmp_path / "talks" / "en-w1.txt").write_text(block, encoding="utf-8")
    told, asked, forgotten = read_talks([tmp_path], Part.TRAIN)
    assert (told.turns, told.meaning, told.asks_to_forget) == ((), "the shed is 4417", False)
    assert (asked.text, asked.meaning, asked.kind) == ("and before?", "and the shed before?", MessageKind.MEMORY)
    assert forgotten.turns == ("the shed is 4417", "and before?", "I don't know that.")
    assert (forgotten.intents, forgotten.asks_to_forget) == ((Intent.FORGET, Intent.STATEMENT), True)


def test_what_our_talks_leave_out_stands_in_what_was_said_before() -> None:
    said = [message for part in Part for message in read_talks([OURS], part)]
    assert {message.language for message in said} == set(LANGUAGES)
    for message in said:
        assert message.meaning is not None
        assert not set("{}|") & set(message.text + message.meaning), message.text
