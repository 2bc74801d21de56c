"""`TaskMemory`: what the user of a session waits for, kept between requests (003 §3.2)."""

from datetime import timedelta

import pytest

from memory.dialogue.checkpoints import RecordSaver
from memory.dialogue.state import Task
from memory.dialogue.tasks import KEPT, MAX_EARLIER, SessionTasks, TaskMemory
from memory.values.items import ItemCollection
from tests.memory.conftest import World
from tests.memory.dialogue.conftest import Dialogue, replying

NONE = SessionTasks()
DONE = Task(task="Book Linz", turn_id="t", outcome="answered")


@pytest.fixture
def tasks(world: World) -> TaskMemory:
    return TaskMemory(world.record, now=lambda: world.now)


async def keep(tasks: TaskMemory, task: str = "Book Linz", *earlier: Task, session_id: str = "s") -> SessionTasks:
    """Saves the tasks of a session of ann's; how they are then."""
    before = await tasks.load("ann", session_id)
    await tasks.save("ann", session_id, before=before, current_task=task, tasks_history=earlier)
    return await tasks.load("ann", session_id)


async def test_the_tasks_of_a_session_are_those_of_its_user_and_session_alone(tasks: TaskMemory) -> None:
    assert await keep(tasks, "Book Graz", DONE) == SessionTasks(current_task="Book Graz", tasks_history=(DONE,))
    assert await tasks.load("ann", "other") == await tasks.load("bob", "s") == NONE


async def test_of_earlier_tasks_the_latest_are_kept(tasks: TaskMemory) -> None:
    earlier = [Task(task=f"task {number}", turn_id="t", outcome="answered") for number in range(MAX_EARLIER + 3)]
    assert (await keep(tasks, "", *earlier)).tasks_history == tuple(earlier[3:])


async def test_they_are_forgotten_in_time(tasks: TaskMemory, world: World) -> None:
    await keep(tasks)
    world.now += KEPT - timedelta(minutes=1)
    assert await tasks.load("ann", "s") != NONE
    world.now += timedelta(minutes=1)
    assert await tasks.load("ann", "s") == NONE


async def test_what_was_erased_while_a_turn_ran_does_not_come_back(tasks: TaskMemory, world: World) -> None:
    before = await keep(tasks)
    async with world.record.writing(user_id="ann") as unit:
        found = await unit.items.page(ItemCollection.DIALOGUE, limit=10)
        assert [item.session_id for item in found] == ["s"]
        await unit.items.delete([item.place for item in found])
        await unit.commit()
    await tasks.save("ann", "s", before=before, current_task="Book Graz", tasks_history=[DONE])
    assert await tasks.load("ann", "s") == NONE


async def test_what_an_import_wrote_and_cannot_be_read_counts_as_nothing(tasks: TaskMemory, world: World) -> None:
    await keep(tasks)
    async with world.record.writing(user_id="ann") as unit:
        [item] = await unit.items.page(ItemCollection.DIALOGUE, limit=10)
        await unit.items.put([item.model_copy(update={"value": {"current_task": 1}})])
        await unit.commit()
    assert await tasks.load("ann", "s") == NONE


async def test_they_are_no_unfinished_turn_of_the_session(tasks: TaskMemory, dialogue: Dialogue) -> None:
    await keep(tasks)
    graph = dialogue.graph(replying("早。"), checkpointer=RecordSaver(dialogue.world.record))
    assert await graph.reset(user_id="ann", session_id="s") == 0
