"""The reader without weights."""

import pytest

from memory.values.errors import ModelUnavailable
from memory.values.understanding.readings import Action, Context, Intent, Reading, ReadRequest, Rewrite
from testing.fakes.reader import FakeReader, names_in


async def read(text: str, *turns: str, names: tuple[str, ...] = ()) -> Reading:
    [reading] = await FakeReader().read([ReadRequest(text=text, context=Context(turns=turns, names=names))])
    return reading


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("我叫王小明，在台积电上班", ["王小明", "台积电"]),
        ("宏康　ＨＣＩ的報價單", ["宏康　ＨＣＩ"]),
        ("Alice works at Acme Corp with Zoe.", ["Alice", "Acme Corp", "Zoe"]),
        ("What is the weather in Taipei on Monday?", ["Taipei"]),
        ("Nothing here.", []),
    ],
)
def test_names_are_those_of_the_table_and_capitalised_words(text: str, names: list[str]) -> None:
    assert [text[span.start : span.end] for span in names_in(text)] == names


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("我住台北。", Intent.STATEMENT),
        ("我住哪裡？", Intent.QUESTION),
        ("幫我記住我住台北", Intent.REMEMBER),
        ("忘掉我的地址", Intent.FORGET),
        ("不是台北，是高雄", Intent.CORRECTION),
        ("Hi there", Intent.GREETING),
        ("謝謝", Intent.THANKS),
    ],
)
async def test_intents_have_marks(text: str, intent: Intent) -> None:
    assert [found for found, _ in (await read(text)).intents] == [intent]


@pytest.mark.parametrize(
    ("text", "turns", "names", "resolved"),
    [
        ("它多少錢？", ("我買了 AI-Box", "好的"), (), "AI-Box多少錢？"),
        ("Where does he live?", ("Tom has a ThinkPad.",), (), "Where does Tom live?"),
        ("它多少錢？", ("早",), ("AI-Box",), "AI-Box多少錢？"),
        ("它多少錢？", (), (), "它多少錢？"),
        ("其他的呢？", ("我買了 AI-Box",), (), "其他的呢？"),
    ],
)
async def test_a_pronoun_is_the_last_name_of_its_kind(
    text: str, turns: tuple[str, ...], names: tuple[str, ...], resolved: str
) -> None:
    rewrite = (await read(text, *turns, names=names)).rewrite
    assert rewrite.text == resolved
    assert (rewrite.action is Action.REWRITE) is (text != resolved)


async def test_two_things_in_one_turn_are_asked_about() -> None:
    rewrite = (await read("它多少錢？", "AI-Box 和 Redis 到了")).rewrite
    [replacement] = rewrite.replacements
    assert rewrite.action is Action.ASK
    assert [span.text for span in (*replacement.antecedents, *replacement.alternatives)] == ["Redis", "AI-Box"]


async def test_a_scripted_text_gets_its_reading_and_an_error_is_raised() -> None:
    reading = Reading(rewrite=Rewrite(text="x"))
    reader = FakeReader(scripted={"x": reading})
    assert await reader.read([ReadRequest(text="x"), ReadRequest(text="")]) == [
        reading,
        Reading(rewrite=Rewrite(text="", confidence=0.95)),
    ]
    with pytest.raises(ModelUnavailable):
        await FakeReader(error=ModelUnavailable("gone")).read([])
