"""003 §5, row by row: tools, reflection, branches, a person in the loop, consolidation, several personas."""

from collections.abc import Mapping
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from memory.answering.answers import AnsweredBy
from memory.dialogue.graph import Branch, DialogueGraph
from memory.dialogue.service import AIService
from memory.dialogue.state import DialogueState, Route
from memory.dialogue.tools import DialogueTool, ToolUser, memory_tool
from memory.language.phrases import TRADITIONAL
from memory.maintenance.fact_jobs import FactJobs, FactMaintenance
from memory.ports.jobs import MaintenanceKind
from memory.ports.models.chat_models import ChatReply, ChatRole, ToolCall, ToolDefinition
from memory.tiers.summaries import ExtractiveWriter
from memory.values.errors import NotFound
from storage.inmemory.coordination import InMemoryLocks
from testing.fakes.chat_model import FakeChatModel
from tests.memory.conftest import World
from tests.memory.dialogue.conftest import Dialogue, make_dialogue, replying, system_prompt
from tests.memory.dialogue.test_graph import NODES, steps

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Booking:
    """A tool that notes what it was asked to do."""

    def __init__(self, *, fails: bool = False, needs_approval: bool = False) -> None:
        self.done: list[tuple[Mapping[str, Any], ToolUser]] = []
        self._fails = fails
        definition = ToolDefinition(name="book", description="Books a trip.", parameters=SCHEMA)
        self.tool = DialogueTool(definition, self._run, needs_approval=needs_approval)

    async def _run(self, arguments: Mapping[str, Any], user: ToolUser) -> str:
        if self._fails:
            raise RuntimeError("no line")
        self.done.append((arguments, user))
        return f"Booked {arguments['city']}."


def calls(name: str = "book", arguments: str = '{"city": "Linz"}', id_: str = "c1") -> ChatReply:
    return ChatReply(text="", tool_calls=(ToolCall(id=id_, name=name, arguments=arguments),))


class TestTools:
    async def test_a_tool_is_used_and_its_result_told_to_the_model(self, dialogue: Dialogue) -> None:
        booking, model = Booking(), FakeChatModel(calls(), "Linz is booked.")
        passed = await steps(dialogue.graph(model, tools=[booking.tool]), "Hello, a trip to Linz")
        assert [node for node, _ in passed] == [*NODES[:4], "use_tools", "call_llm", *NODES[4:]]
        assert booking.done == [({"city": "Linz"}, ToolUser("ann", "s"))]
        asked, told = model.requests[1].messages[-2:]
        assert (asked.role, asked.tool_calls[0].name) == (ChatRole.ASSISTANT, "book")
        assert (told.role, told.tool_call_id, told.content) == (ChatRole.TOOL, "c1", "Booked Linz.")

    @pytest.mark.parametrize(
        ("call", "said"),
        [
            (calls("fly"), "There is no such tool; there are: book."),
            (calls(arguments="{"), "The arguments are no JSON."),
            (calls(arguments='{"town": "Linz"}'), "The arguments do not follow the schema"),
        ],
    )
    async def test_a_call_that_is_not_sound_is_explained_to_the_model(
        self, dialogue: Dialogue, call: ChatReply, said: str
    ) -> None:
        booking, model = Booking(), FakeChatModel(call, "I could not book that.")
        result = await dialogue.say("Hello", graph=dialogue.graph(model, tools=[booking.tool]))
        assert model.requests[1].messages[-1].content.startswith(said)
        assert (booking.done, result.ai_response) == ([], "I could not book that.")

    async def test_a_tool_that_fails_fails_no_turn(self, dialogue: Dialogue) -> None:
        model = FakeChatModel(calls(), "It did not work.")
        result = await dialogue.say("Hello", graph=dialogue.graph(model, tools=[Booking(fails=True).tool]))
        assert result.ai_response == "It did not work."
        assert "no line" not in model.requests[1].messages[-1].content

    async def test_the_rounds_of_tools_are_bounded(self, dialogue: Dialogue) -> None:
        model = FakeChatModel(calls(), calls(), "Enough.", otherwise=lambda _: "Never reached.")
        graph = dialogue.graph(model, tools=[Booking().tool], max_tool_rounds=2)
        assert (await dialogue.say("Hello", graph=graph)).ai_response == "Enough."
        assert [len(request.tools) for request in model.requests] == [1, 1, 0]

    async def test_a_tool_that_did_something_ends_the_current_task(self, dialogue: Dialogue) -> None:
        graph = dialogue.graph(FakeChatModel(calls(), "Done."), tools=[Booking().tool])
        result = await dialogue.say("Hello", graph=graph, current_task="Book Linz", turn_id="t")
        assert list(result.tasks_history) == [{"task": "Book Linz", "turn_id": "t", "outcome": "carried_out"}]
        assert result.current_task == ""

    async def test_the_model_can_look_up_memory_of_this_user_alone(self, dialogue: Dialogue) -> None:
        await dialogue.say("My spare key is in the study drawer.")
        await dialogue.say("My spare key is in the Quarzborn tower.", user_id="bob")
        model = FakeChatModel(calls("search_memory", '{"query": "Where is my spare key?"}'), "In the study drawer.")
        await dialogue.say("Hello", graph=dialogue.graph(model, tools=[memory_tool(dialogue.memory)]))
        told = model.requests[1].messages[-1].content
        assert "study drawer" in told
        assert "Quarzborn" not in told


class TestReflection:
    @pytest.mark.parametrize(
        ("told", "asked", "bad", "good", "problem"),
        [
            ("我家的備用鑰匙放在書房抽屜。", "備用鑰匙放在哪裡？", "It is in the drawer.", "在書房抽屜。", "zh-Hant"),
            ("我家的备用钥匙放在书房抽屉。", "备用钥匙放在哪里？", "在書房抽屜。", "在书房抽屉。", "zh-Hans"),
            ("My key is in drawer 4.", "Where is my key?", "It is in drawer 7.", "It is in drawer 4.", "7"),
        ],
    )
    async def test_a_reply_that_is_not_good_is_asked_for_again_with_what_is_wrong(
        self, dialogue: Dialogue, told: str, asked: str, bad: str, good: str, problem: str
    ) -> None:
        await dialogue.say(told)
        model = replying(bad, good)
        result = await dialogue.say(asked, graph=dialogue.graph(model))
        assert (result.ai_response, result.answered_by) == (good, AnsweredBy.LANGUAGE_MODEL)
        assert "Your last reply was not good" in system_prompt(model)
        assert problem in system_prompt(model).partition("Your last reply was not good")[2]

    async def test_the_loop_ends_after_its_bound_and_memory_is_quoted(self, dialogue: Dialogue) -> None:
        await dialogue.say("My key is in drawer 4.")
        model = replying(otherwise=lambda _: "It is in drawer 7.")
        result = await dialogue.say("Where is my key?", graph=dialogue.graph(model, max_reflections=2))
        assert len(model.requests) == 3
        assert result.answered_by is AnsweredBy.EXTRACTIVE
        assert "drawer 4" in result.ai_response

    async def test_the_loop_runs_through_a_node_of_its_own(self, dialogue: Dialogue) -> None:
        passed = await steps(dialogue.graph(replying("", "Hello.")), "Hello there")
        assert [node for node, _ in passed] == [*NODES[:5], "reflect", "build_prompt", *NODES[3:]]


class TestBranches:
    async def test_a_request_to_forget_is_confirmed_carried_out_and_stored_nowhere(self, dialogue: Dialogue) -> None:
        await dialogue.say("我家的備用鑰匙放在書房抽屜。")
        model = replying(otherwise=lambda _: "never asked")
        result = await dialogue.say("忘掉備用鑰匙的事", graph=dialogue.graph(model))
        assert (result.route, model.requests) == (Route.FORGET, [])
        assert result.stored is not None
        assert result.updated_messages == ()
        found = await dialogue.world.find("備用鑰匙")
        assert result.stored["forgot"]
        assert [hit.text for hit in found.hits if "書房" in hit.text] == []

    async def test_where_nothing_is_learned_nothing_is_removed_and_the_reply_says_so(self, dialogue: Dialogue) -> None:
        await dialogue.say("我家的備用鑰匙放在書房抽屜。")
        result = await dialogue.say("忘掉備用鑰匙的事", learns=False)
        assert result.ai_response == TRADITIONAL.forget_unlearned
        assert [hit.text for hit in (await dialogue.world.find("備用鑰匙")).hits if "書房" in hit.text]

    @pytest.mark.parametrize(
        ("asked", "route"),
        [
            ("Where is my spare key?", Route.RECALL),
            ("When does my insurance end?", Route.UNKNOWN),
            ("Hello there", Route.CHAT),
        ],
    )
    async def test_the_way_is_chosen_by_intent_and_by_what_memory_holds(
        self, dialogue: Dialogue, asked: str, route: Route
    ) -> None:
        await dialogue.say("My spare key is in the study drawer.")
        result = await dialogue.say(asked, graph=dialogue.graph(replying(otherwise=lambda _: "In the study drawer.")))
        assert result.route is route

    async def test_what_memory_does_not_hold_is_said_to_the_model(self, dialogue: Dialogue) -> None:
        model = replying("I do not know that.")
        await dialogue.say("When does my insurance end?", graph=dialogue.graph(model))
        assert "Memory holds no answer" in system_prompt(model)

    async def test_an_application_adds_a_branch_by_the_character_state(self, dialogue: Dialogue) -> None:
        async def sleep(state: DialogueState) -> str:
            return f"{state['character_state']['mood']}… zzz"

        asleep = Branch("asleep", lambda state: state["character_state"].get("mood") == "asleep", sleep)
        model = replying("Hello.")
        graph = dialogue.graph(model, branches=[asleep])
        resting = await dialogue.say("Hello there", graph=graph, character_state={"mood": "asleep"})
        awake = await dialogue.say("Hello there", graph=graph, character_state={"mood": "fine"})
        assert (resting.ai_response, awake.ai_response) == ("asleep… zzz", "Hello.")
        assert len(model.requests) == 1


class TestApproval:
    def graph(self, dialogue: Dialogue, booking: Booking, *answers: Any) -> DialogueGraph:
        model = FakeChatModel(calls(), *answers)
        return dialogue.graph(model, tools=[booking.tool], checkpointer=InMemorySaver())

    async def test_a_turn_waits_until_a_person_allows_a_tool(self, dialogue: Dialogue) -> None:
        booking = Booking(needs_approval=True)
        service = AIService(self.graph(dialogue, booking, "Linz is booked."), user_id="ann", session_id="s")
        assert await service.generate_response("Hello, book Linz") == ""
        assert service.waiting is not None
        assert [call["arguments"] for call in service.waiting.waits_for] == ['{"city": "Linz"}']
        assert (booking.done, service.messages) == ([], [])
        assert await service.resume(approved=True) == "Linz is booked."
        assert len(booking.done) == 1
        assert service.waiting is None

    @pytest.mark.parametrize("answer", [False, {"c1": False}, {}])
    async def test_what_is_not_allowed_is_not_done_and_the_model_is_told(
        self, dialogue: Dialogue, answer: bool | dict[str, bool]
    ) -> None:
        booking = Booking(needs_approval=True)
        graph = self.graph(dialogue, booking, "As you wish.")
        waiting = await dialogue.say("Hello, book Linz", graph=graph)
        result = await graph.resume(user_id="ann", session_id="s", turn_id=waiting.turn_id, approved=answer)
        assert (booking.done, result.ai_response) == ([], "As you wish.")

    async def test_asking_again_for_a_turn_that_waits_says_what_it_waits_for(self, dialogue: Dialogue) -> None:
        graph = self.graph(dialogue, Booking(needs_approval=True))
        first = await dialogue.say("Hello, book Linz", graph=graph, turn_id="t")
        again = await dialogue.say("Hello, book Linz", graph=graph, turn_id="t")
        assert again.waits_for == first.waits_for

    async def test_nobody_resumes_the_turn_of_another_user_or_one_that_does_not_wait(self, dialogue: Dialogue) -> None:
        graph = self.graph(dialogue, Booking(needs_approval=True))
        await dialogue.say("Hello, book Linz", graph=graph, turn_id="t")
        for user, turn in (("bob", "t"), ("ann", "other")):
            with pytest.raises(NotFound):
                await graph.resume(user_id=user, session_id="s", turn_id=turn, approved=True)

    async def test_reset_forgets_the_turns_that_wait_in_this_conversation(self, dialogue: Dialogue) -> None:
        graph = self.graph(dialogue, Booking(needs_approval=True), calls())
        await dialogue.say("Hello, book Linz", graph=graph, turn_id="t")
        await dialogue.say("Hello, book Linz", graph=graph, turn_id="t", session_id="other")
        assert await graph.reset(user_id="ann", session_id="s") == 1
        with pytest.raises(NotFound):
            await graph.resume(user_id="ann", session_id="s", turn_id="t", approved=True)

    async def test_an_ended_turn_leaves_no_checkpoint(self, dialogue: Dialogue) -> None:
        saver = InMemorySaver()
        await dialogue.say("Hello", graph=dialogue.graph(replying("Hello."), checkpointer=saver))
        assert [saved async for saved in saver.alist(None)] == []

    def test_a_tool_that_waits_needs_a_checkpointer(self, dialogue: Dialogue) -> None:
        with pytest.raises(ValueError, match="checkpointer"):
            dialogue.graph(replying(), tools=[Booking(needs_approval=True).tool])


class TestConsolidation:
    async def test_a_node_starts_the_nightly_job_after_so_many_turns(self, world: World) -> None:
        dialogue, jobs = with_jobs(world)
        graph = dialogue.graph(replying(otherwise=lambda _: "Hello."), consolidate_every=2)
        first = await dialogue.say("I live in Linz.", graph=graph)
        assert first.consolidated == ""
        second = await dialogue.say("I like tea.", graph=graph, messages=first.updated_messages)
        run = await jobs.last_run(MaintenanceKind.NIGHTLY)
        assert run is not None
        assert (second.consolidated, run.input["user_id"]) == (run.run_id, "ann")
        await jobs.close()

    async def test_a_run_in_progress_is_no_error(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        dialogue, jobs = with_jobs(world)
        await dialogue.memory.consolidate_memories(user_id="ann")
        assert await dialogue.memory.consolidate_memories(user_id="ann") == ""
        await jobs.close()


def with_jobs(world: World) -> tuple[Dialogue, FactJobs]:
    facts = FactMaintenance(record=world.record, writer=ExtractiveWriter())
    jobs = FactJobs(facts=facts, locks=InMemoryLocks(), schedules={}, now=lambda: world.now)
    return make_dialogue(world, jobs=jobs), jobs


class TestSeveralPersonas:
    BOTH = ("default", "fu")

    async def test_the_persona_that_a_message_names_replies(self, dialogue: Dialogue) -> None:
        model = replying("我在修樹。")
        result = await dialogue.say("阿福你在做什麼", graph=dialogue.graph(model), persona_ids=self.BOTH)
        assert [said["persona_id"] for said in result.replies] == ["fu"]
        assert "You are 阿福" in system_prompt(model)
        assert "阿福是園丁。" in system_prompt(model)

    async def test_several_that_are_named_reply_in_turn_and_hear_each_other(self, dialogue: Dialogue) -> None:
        model = replying("我在修樹。", "我在煮咖啡。")
        result = await dialogue.say("阿福、小林，早安", graph=dialogue.graph(model), persona_ids=self.BOTH)
        assert result.ai_response == "阿福: 我在修樹。\n小林: 我在煮咖啡。"
        assert [message.get("persona") for message in result.updated_messages] == [None, "fu", "default"]
        assert model.requests[1].messages[-1].content == "阿福: 我在修樹。"
        assert "阿福是園丁。" not in system_prompt(model)

    async def test_whoever_spoke_last_goes_on(self, dialogue: Dialogue) -> None:
        graph = dialogue.graph(replying("我在修樹。", "累啊。"))
        first = await dialogue.say("阿福早安", graph=graph, persona_ids=self.BOTH)
        second = await dialogue.say("累嗎", graph=graph, persona_ids=self.BOTH, messages=first.updated_messages)
        assert [said["persona_id"] for said in second.replies] == ["fu"]

    async def test_without_a_model_one_quotation_is_the_reply(self, dialogue: Dialogue) -> None:
        result = await dialogue.say("阿福、小林，早安", persona_ids=self.BOTH)
        assert len(result.replies) == 1
