"""`JiyiSaver` over a running app: LangGraph's own conformance suite, and real graphs that go on where they were."""

import operator
from collections.abc import AsyncGenerator, Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import BASE_CAPABILITIES
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from jiyi.langgraph import JiyiSaver
from memory.values.ids import new_id
from tests.deployments.loopback import on_loopback


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with on_loopback() as address:
        yield address


async def test_all_base_tests_of_the_conformance_suite_hold(url: str) -> None:
    @checkpointer_test(name="JiyiSaver")
    async def saver() -> AsyncGenerator[JiyiSaver, None]:
        with JiyiSaver(url, user_id=new_id()) as opened:
            yield opened

    report = await validate(saver)
    base = [report.results[capability.value] for capability in BASE_CAPABILITIES]
    assert report.passed_all_base(), [result.failures for result in base]
    assert sum(result.tests_passed for result in base) == 58


class State(TypedDict):
    said: Annotated[list[str], operator.add]
    approved: str


def graph_of(saver: JiyiSaver) -> Any:
    """A graph that asks a person between its two nodes."""

    def draft(state: State) -> dict[str, Any]:
        return {"said": ["draft"]}

    def approve(state: State) -> dict[str, Any]:
        return {"approved": interrupt("May I send it?"), "said": ["sent"]}

    builder = StateGraph(State)
    builder.add_node("draft", draft)
    builder.add_node("approve", approve)
    builder.add_edge(START, "draft")
    builder.add_edge("draft", "approve")
    builder.add_edge("approve", END)
    return builder.compile(checkpointer=saver)


THREAD = {"configurable": {"thread_id": "thread.1"}}


class TestGraphs:
    def test_an_interrupted_graph_goes_on_in_another_process(self, url: str) -> None:
        user = new_id()
        with JiyiSaver(url, user_id=user) as saver:
            stopped = graph_of(saver).invoke({"said": ["hello"]}, THREAD)
            assert stopped["__interrupt__"][0].value == "May I send it?"
        with JiyiSaver(url, user_id=user) as saver:
            graph = graph_of(saver)
            assert graph.get_state(THREAD).next == ("approve",)
            done = graph.invoke(Command(resume="yes"), THREAD)
            assert (done["said"], done["approved"]) == (["hello", "draft", "sent"], "yes")

    async def test_the_same_with_the_asynchronous_methods(self, url: str) -> None:
        with JiyiSaver(url, user_id=new_id()) as saver:
            graph = graph_of(saver)
            await graph.ainvoke({"said": ["hello"]}, THREAD)
            done = await graph.ainvoke(Command(resume="no"), THREAD)
            assert done["approved"] == "no"
            history = [state async for state in graph.aget_state_history(THREAD)]
            assert [state.next for state in history] == [(), ("approve",), ("draft",), ("__start__",)]

    def test_a_fork_keeps_what_was_said_before_it_and_leaves_the_history_whole(self, url: str) -> None:
        with JiyiSaver(url, user_id=new_id()) as saver:
            graph = graph_of(saver)
            graph.invoke({"said": ["hello"]}, THREAD)
            graph.invoke(Command(resume="yes"), THREAD)
            before = list(graph.get_state_history(THREAD))
            at_draft = next(state for state in before if state.next == ("draft",))
            fork = graph.update_state(at_draft.config, {"said": ["changed"]})
            assert graph.get_state(fork).values["said"] == ["hello", "changed"]
            resumed = graph.invoke(None, fork)
            assert resumed["said"] == ["hello", "changed", "draft"]
            after = {state.config["configurable"]["checkpoint_id"] for state in graph.get_state_history(THREAD)}
            assert after >= {state.config["configurable"]["checkpoint_id"] for state in before}

    def test_users_never_see_each_others_threads(self, url: str) -> None:
        with JiyiSaver(url, user_id="ann") as ann, JiyiSaver(url, user_id="bob") as bob:
            graph_of(ann).invoke({"said": ["hello"]}, THREAD)
            assert graph_of(bob).get_state(THREAD).values == {}
            bob.delete_thread("thread.1")
            assert graph_of(ann).get_state(THREAD).values["said"] == ["hello", "draft"]
            ann.delete_thread("thread.1")
            assert list(ann.list(None)) == []
