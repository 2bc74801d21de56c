"""What is asked where choosing would be a guess, in the three ways users write."""

import pytest

from memory.coreference.resolver import ReadingResolver
from memory.values.understanding.readings import Action
from tests.memory.coreference.notation import read, request, resolve


@pytest.mark.parametrize(
    ("marked", "turn", "question"),
    [
        ("{它|?HCI-500?AI-Box}放在哪裡？", "我們買了 AI-Box 和 HCI-500。", "「它」是指 AI-Box 還是 HCI-500？"),
        ("{它|?AI-Box?HCI-500}放在哪裡？", "我們買了AI-Box和HCI-500。", "「它」是指AI-Box還是HCI-500？"),
        ("{她|?李小姐?張小姐}什麼時候來？", "我約了張小姐。我約了李小姐。", "「她」是指張小姐還是李小姐？"),
        ("{它|?Redis?Qdrant}贵吗？", "我们买了 Redis 和 Qdrant。", "“它”是指 Redis 还是 Qdrant？"),
        ("{它|?Redis?Qdrant?ArangoDB}好吗？", "Redis、Qdrant 和 ArangoDB", "“它”是指 Redis、Qdrant 还是 ArangoDB？"),
        ("Is {it|?Qdrant?Redis} fast?", "I tried Redis. I tried Qdrant.", "By “it”, do you mean Redis or Qdrant?"),
        ("Is {it|?Redis} fast?", "I tried Redis.", "By “it”, do you mean Redis?"),
        ("What about tax{|?the Brixton one?the Leeds one}?", "the Leeds one or the Brixton one",
         "Do you mean the Leeds one or the Brixton one?"),
    ],
)  # fmt: skip
async def test_the_options_are_in_the_order_of_mention(marked: str, turn: str, question: str) -> None:
    result = await resolve(marked, turn)
    assert result.resolved_query == result.original_query
    assert (result.resolutions, result.confidence) == ((), 0.0)
    assert result.clarification
    assert result.clarification.question == question
    start, end = result.clarification.start, result.clarification.end
    assert result.original_query[start:end] == result.clarification.original_text
    assert all(option.text in question for option in result.clarification.options)


async def test_a_question_in_characters_of_both_scripts_is_in_the_one_that_its_user_writes() -> None:
    result = await resolve("{它|?Redis?Qdrant}多大？", "我們買了 Redis 和 Qdrant。")
    assert result.clarification
    assert "還是" in result.clarification.question


async def test_an_owner_stays_an_owner_around_the_option_that_is_chosen() -> None:
    result = await resolve("How long does {its|?Dyson?Shark|Dyson's} battery last?", "Dyson or Shark?")
    assert result.clarification
    assert (result.clarification.before, result.clarification.after) == ("", "'s")


@pytest.mark.parametrize(("probability", "asked"), [(0.3, True), (0.05, False)])
async def test_an_unsure_edit_is_asked_about_where_two_are_nearly_as_likely(probability: float, asked: bool) -> None:
    turns = ["I tried Redis. I tried Qdrant."]
    query, extraction = read("Is {it|?Redis?Qdrant} fast?", turns, confidence=0.45)
    assert extraction.rewrite
    [replacement] = extraction.rewrite.replacements
    best = replacement.antecedents[0].model_copy(update={"probability": 0.45})
    other = replacement.alternatives[0].model_copy(update={"probability": probability})
    replacement = replacement.model_copy(update={"antecedents": (best,), "alternatives": (other,)})
    rewrite = extraction.rewrite.model_copy(update={"action": Action.REWRITE, "replacements": (replacement,)})
    result = await ReadingResolver(floor=0.5).resolve(
        request(query, turns), extraction.model_copy(update={"rewrite": rewrite})
    )
    assert result.resolved_query == query
    assert (result.clarification is not None) is asked


async def test_a_part_of_an_option_is_no_other_option() -> None:
    turns = ["我們買了宏康 HCI。"]
    result = await resolve("{它|?宏康 HCI?宏康}多少錢？", *turns)
    assert result.clarification
    assert result.clarification.question == "「它」是指宏康 HCI 嗎？"
