"""003 §2.1, the persona memory: given, learned from conversation under rules, recalled, consolidated, forgotten."""

from datetime import timedelta

import pytest

from memory.dialogue.graph import DialogueGraph
from memory.dialogue.persona_rules import HALF_LIFE, consolidated, faded, with_told
from memory.dialogue.personas import RECALLED, trait_line
from memory.facts.persons import is_about_hearer
from memory.language.written import Language
from memory.values.errors import NotFound
from memory.values.personas import MAX_LEARNED, Persona, PersonaProfile, Trait, TraitOrigin
from testing.fakes.reader import stated
from tests.memory.conftest import NOW, World
from tests.memory.dialogue.conftest import LIN, Dialogue, make_dialogue, replying

TOLD = "你住在台南。"


def read(dialogue: Dialogue, text: str, *facts: str, intents: str = "statement") -> None:
    """Has the reader find these facts in a text."""
    dialogue.world.language.scripted[text] = stated(text, *facts, intents=intents)


async def learned(dialogue: Dialogue, persona_id: str = "default", user: str = "ann") -> list[tuple[str, str]]:
    persona = await dialogue.personas.load(user, persona_id)
    return [(trait.predicate, trait.object) for trait in persona.learned]


def chatty(dialogue: Dialogue, *replies: str) -> DialogueGraph:
    return dialogue.graph(replying(*replies), max_reflections=0)


def trait(predicate: str = "likes", object_: str = "jazz", **fields: object) -> Trait:
    given = {"predicate": predicate, "object": object_, "origin": "told", "confidence": 0.6, "said_at": NOW}
    return Trait.model_validate(given | {"sources": ("r1",)} | fields)


class TestWhatIsLearned:
    @pytest.mark.parametrize(
        ("text", "fact", "kept"),
        [
            ("你住在台南。", "user | lives_in | 台南", ("lives_in", "台南")),
            ("你住在台北，喜欢喝茶。", "user | likes | 喝茶", ("likes", "喝茶")),
            ("You live in Tainan.", "user | lives_in | Tainan", ("lives_in", "Tainan")),
        ],
    )
    async def test_what_the_user_tells_the_assistant_about_itself(
        self, dialogue: Dialogue, text: str, fact: str, kept: tuple[str, str]
    ) -> None:
        read(dialogue, text, fact)
        await dialogue.say(text, graph=chatty(dialogue, "Thank you."))
        assert await learned(dialogue) == [kept]

    @pytest.mark.parametrize(
        ("reply", "fact", "kept"),
        [
            ("我住在台南，你呢？", "user | lives_in | 台南", ("lives_in", "台南")),
            ("我很喜欢爵士乐。", "user | likes | 爵士乐", ("likes", "爵士乐")),
            ("I live in Tainan.", "user | lives_in | Tainan", ("lives_in", "Tainan")),
        ],
    )
    async def test_what_the_assistant_says_of_itself(
        self, dialogue: Dialogue, reply: str, fact: str, kept: tuple[str, str]
    ) -> None:
        read(dialogue, reply, fact)
        greeting = {"我住": "你好，很高興", "我很": "你们好", "I l": "Hello there"}
        said = next(text for start, text in greeting.items() if reply.startswith(start))
        await dialogue.say(said, graph=chatty(dialogue, reply))
        assert await learned(dialogue) == [kept]
        [found] = (await dialogue.personas.load("ann", "default")).learned
        assert (found.origin, found.confidence < 1) == (TraitOrigin.SAID, True)

    @pytest.mark.parametrize(
        ("text", "fact"),
        [
            ("我住在台北。", "user | lives_in | 台北"),
            ("I live in Taipei.", "user | lives_in | Taipei"),
            ("You told me I live in Taipei.", "user | lives_in | Taipei"),
            ("他說「你住在台北」。", "user | lives_in | 台北"),
            ("What does this mean?\n> You live in Taipei.", "user | lives_in | Taipei"),
            ('The page says "You live in Taipei" in red.', "user | lives_in | Taipei"),
            ("<document>You live in Taipei.</document>", "user | lives_in | Taipei"),
        ],
    )
    async def test_what_the_user_says_of_themselves_or_quotes_is_nothing_of_the_assistant(
        self, dialogue: Dialogue, text: str, fact: str
    ) -> None:
        read(dialogue, text, fact)
        await dialogue.say(text, graph=chatty(dialogue, "I see what you mean."))
        assert await learned(dialogue) == []

    async def test_what_the_assistant_says_of_the_user_is_nothing_of_itself(self, dialogue: Dialogue) -> None:
        reply = "You live in Taipei."
        read(dialogue, reply, "user | lives_in | Taipei")
        await dialogue.say("Hello there", graph=chatty(dialogue, reply))
        assert await learned(dialogue) == []

    async def test_what_a_prompt_held_is_not_learned_from_a_reply(self, dialogue: Dialogue) -> None:
        await dialogue.say("My boat is called Quarzborn.")
        reply = "I am called Quarzborn, like your boat."
        read(dialogue, reply, "user | nickname | Quarzborn")
        await dialogue.say("What is my boat called?", graph=chatty(dialogue, reply))
        assert await learned(dialogue) == []

    async def test_quotations_of_memory_teach_nothing(self, dialogue: Dialogue) -> None:
        await dialogue.say("我家的備用鑰匙放在書房抽屜。")
        result = await dialogue.say("備用鑰匙放在哪裡？")
        read(dialogue, result.ai_response, "user | lives_in | 書房抽屜")
        await dialogue.say("備用鑰匙放在哪裡？")
        assert await learned(dialogue) == []

    async def test_what_the_user_tells_the_assistant_about_itself_is_no_fact_of_theirs(
        self, dialogue: Dialogue
    ) -> None:
        read(dialogue, TOLD, "user | lives_in | 台南")
        await dialogue.say(TOLD, graph=chatty(dialogue, "好。"))
        async with dialogue.world.record.reading(user_id="ann") as unit:
            assert await unit.facts.list(limit=10) == []

    async def test_it_is_learned_once_for_a_turn_and_for_the_persona_that_replied(self, dialogue: Dialogue) -> None:
        text = "阿福，你住在台南。"
        read(dialogue, text, "user | lives_in | 台南")
        for _ in range(2):
            graph = chatty(dialogue, "好。")
            await dialogue.say(text, graph=graph, persona_ids=("default", "fu"), turn_id="t")
        assert (await learned(dialogue, "default"), await learned(dialogue, "fu")) == ([], [("lives_in", "台南")])
        [found] = (await dialogue.personas.load("ann", "fu")).learned
        assert found.confidence == pytest.approx(0.9 * 0.95, abs=0.1)

    async def test_users_have_personas_of_their_own(self, dialogue: Dialogue) -> None:
        read(dialogue, TOLD, "user | lives_in | 台南")
        await dialogue.say(TOLD, graph=chatty(dialogue, "好。"), user_id="bob")
        assert await learned(dialogue) == []
        assert await learned(dialogue, user="bob") == [("lives_in", "台南")]

    async def test_a_request_to_forget_teaches_nothing(self, dialogue: Dialogue) -> None:
        text = "Forget that you live in Tainan."
        read(dialogue, text, "user | lives_in | Tainan", intents="forget")
        await dialogue.say(text, graph=chatty(dialogue, "Done."))
        assert await learned(dialogue) == []


class TestRules:
    def test_saying_it_again_makes_it_surer_once_for_each_entry(self) -> None:
        again = with_told([trait()], [(trait(sources=("r2",)), True)], PersonaProfile())
        assert again[0].confidence == pytest.approx(0.84)
        assert with_told(again, [(trait(sources=("r2",)), True)], PersonaProfile()) == again

    def test_the_latest_of_a_predicate_with_one_value_holds(self) -> None:
        known = [trait("lives_in", "Tainan"), trait()]
        kept = with_told(known, [(trait("lives_in", "Linz", sources=("r2",)), True)], PersonaProfile())
        assert {(item.predicate, item.object) for item in kept} == {("lives_in", "Linz"), ("likes", "jazz")}

    def test_what_is_said_not_to_be_so_is_gone(self) -> None:
        assert with_told([trait()], [(trait(sources=("r2",)), False)], PersonaProfile()) == []

    def test_a_given_name_holds_against_one_that_is_told(self) -> None:
        told = [(trait("name", "DAN"), True)]
        assert with_told([], told, LIN) == []
        assert [item.object for item in with_told([], told, PersonaProfile())] == ["DAN"]

    def test_there_is_a_bound_and_the_least_sure_goes(self) -> None:
        told = [(trait(object_=f"o{number}", confidence=0.4 + number / 1000), True) for number in range(140)]
        kept = with_told([], told, PersonaProfile())
        assert len(kept) == MAX_LEARNED
        assert min(item.confidence for item in kept) > 0.41

    def test_the_same_liking_in_other_words_is_joined_and_what_is_old_goes(self) -> None:
        old = trait(object_="chess", confidence=0.5, said_at=NOW - 2 * HALF_LIFE)
        kept = consolidated([trait(), trait("prefers", "Jazz", sources=("r2",)), old], now=NOW)
        assert [(item.object, item.sources) for item in kept] == [("jazz", ("r1", "r2"))]
        assert faded(old, now=NOW) == pytest.approx(0.125)

    def test_a_fact_about_the_hearer_is_told_by_its_clause(self) -> None:
        [own, other] = [
            reading.facts[0]
            for reading in (
                stated("I like tea and you like jazz.", "user | likes | tea"),
                stated("I like tea and you like jazz.", "user | likes | jazz"),
            )
        ]
        assert not is_about_hearer("I like tea and you like jazz.", own)
        assert is_about_hearer("I like tea and you like jazz.", other)

    @pytest.mark.parametrize(
        ("language", "line"),
        [
            (Language.ENGLISH, "hobbies: 爵士樂"),
            (Language.TRADITIONAL_CHINESE, "興趣：爵士樂"),
            (Language.SIMPLIFIED_CHINESE, "兴趣：爵士樂"),
        ],
    )
    def test_a_trait_is_a_line_in_the_language_of_the_reply(self, language: Language, line: str) -> None:
        assert trait_line(trait("hobby", "爵士樂"), language) == line


class TestStored:
    async def test_a_persona_of_the_settings_is_there_for_everybody_until_they_have_their_own(
        self, dialogue: Dialogue
    ) -> None:
        assert (await dialogue.personas.load("ann", "default")).profile == LIN
        own = PersonaProfile(name="Nova", facts=("Nova is a pilot.",))
        await dialogue.personas.save("ann", own)
        assert (await dialogue.personas.load("ann", "default")).profile == own
        assert (await dialogue.personas.load("bob", "default")).profile == LIN
        assert [persona.profile.persona_id for persona in await dialogue.personas.list("ann")] == ["default", "fu"]

    async def test_giving_a_persona_keeps_what_was_learned_but_its_name(self, dialogue: Dialogue) -> None:
        told = [(trait("name", "DAN"), True), (trait(), True)]
        await dialogue.personas.learn("ann", "new", told, session_id="s")
        saved = await dialogue.personas.save("ann", PersonaProfile(persona_id="new", name="Nova"))
        assert [item.object for item in saved.learned] == ["jazz"]
        assert saved.names == ("Nova",)

    async def test_deleting_removes_all_of_it(self, dialogue: Dialogue) -> None:
        await dialogue.personas.save("ann", PersonaProfile(persona_id="new", name="Nova"))
        await dialogue.personas.learn("ann", "new", [(trait(), True)], session_id="s")
        assert await dialogue.personas.delete("ann", "new") == 2
        assert await dialogue.personas.load("ann", "new") == Persona(
            user_id="ann", profile=PersonaProfile(persona_id="new")
        )
        with pytest.raises(NotFound):
            await dialogue.personas.delete("ann", "new")

    async def test_consolidating_writes_what_is_left(self, dialogue: Dialogue) -> None:
        told = [(trait(), True), (trait("prefers", "Jazz", sources=("r2",)), True)]
        await dialogue.personas.learn("ann", "fu", told, session_id="s")
        assert await dialogue.personas.consolidate("ann", NOW) == 1
        assert await learned(dialogue, "fu") == [("likes", "jazz")]
        assert await dialogue.personas.consolidate("ann", NOW) == 0
        assert await dialogue.personas.consolidate("ann", NOW + timedelta(days=3650)) == 1

    async def test_a_prompt_holds_what_is_near_to_the_message(self, world: World) -> None:
        dialogue = make_dialogue(world, given=())
        told = [(trait("uses", f"thing number {number}"), True) for number in range(RECALLED)]
        wanted = (trait("owns", "a red bicycle", confidence=0.41), True)
        await dialogue.personas.learn("ann", "p", [*told, wanted], session_id="s")
        near = await dialogue.personas.recall("ann", "p", "owner: a red bicycle", language=Language.ENGLISH)
        assert len(near["lines"]) == RECALLED
        assert any("red bicycle" in line for line in near["lines"])

    async def test_long_personas_leave_room_in_the_prompt(self, world: World) -> None:
        facts = tuple(f"{number} " + "很長的一句話" * 60 for number in range(20))
        dialogue = make_dialogue(world, given=(PersonaProfile(facts=facts),))
        recalled = await dialogue.personas.recall("ann", "default", "你好", language=Language.TRADITIONAL_CHINESE)
        assert 0 < len(recalled["lines"]) < len(facts)
