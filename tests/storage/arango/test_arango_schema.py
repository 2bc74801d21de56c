"""The schema in ArangoDB and the statements that run on it."""

import asyncio
import re
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from arango.client import ArangoClient
from arango.database import StandardDatabase

from memory.values.errors import StoreUnavailable
from storage.arango.engine import queries, run_queries
from storage.arango.engine.client import ArangoSettings
from storage.arango.engine.keys import ascii_of
from storage.arango.engine.schema import COLLECTIONS, EDGES, MIGRATIONS, Migration, migrate
from storage.arango.record import ArangoRecord
from testing.arango_standin import ArangoStandIn
from testing.arango_standin.driver import result

STATEMENTS = {
    name: value for module in (queries, run_queries) for name, value in vars(module).items() if name.isupper()
}


@pytest.fixture
def server() -> Iterator[ArangoStandIn]:
    with ArangoStandIn() as running:
        yield running


@pytest.fixture
def database(server: ArangoStandIn) -> Iterator[StandardDatabase]:
    client = ArangoClient(hosts=server.url)
    client.db("_system").create_database("jiyi")
    yield client.db("jiyi")
    client.close()


def step(log: list[str], name: str) -> Migration:
    return Migration(name, (lambda _: log.append(name),))


class TestMigrations:
    def test_a_new_database_gets_collections_and_graphs(self, database: StandardDatabase) -> None:
        migrate(database, deadline_s=1)
        migrate(database, deadline_s=1)
        collections = [found for found in result(database.collections()) if not found["system"]]
        kinds = {found["name"]: found["type"] for found in collections}
        assert kinds.keys() == {*COLLECTIONS, "migrations"}
        assert {name for name, kind in kinds.items() if kind == "edge"} == set(EDGES)
        assert {graph["name"] for graph in result(database.graphs())} == {"entity_graph", "fact_graph"}

    @pytest.mark.parametrize("edges", EDGES)
    def test_edges_have_vertex_centric_indexes(self, database: StandardDatabase, edges: str) -> None:
        migrate(database, deadline_s=1)
        indexed = [index["fields"] for index in result(database.collection(edges).indexes())]
        assert ["_from", "user_id"] in indexed
        assert ["_to", "user_id"] in indexed

    def test_each_migration_runs_once_and_in_order(self, database: StandardDatabase) -> None:
        log: list[str] = []
        first, second, third = (step(log, name) for name in "abc")
        migrate(database, deadline_s=1, migrations=(first,))
        migrate(database, deadline_s=1, migrations=(first, second, third))
        migrate(database, deadline_s=1, migrations=(first, second, third))
        assert log == ["a", "b", "c"]

    def test_one_that_broke_off_is_run_again(self, database: StandardDatabase) -> None:
        log: list[str] = []
        broken = Migration("b", (lambda _: log.append("b"), lambda _: 1 / 0))
        with pytest.raises(ZeroDivisionError):
            migrate(database, deadline_s=1, migrations=(step(log, "a"), broken))
        migrate(database, deadline_s=1, migrations=(step(log, "a"), step(log, "b")))
        assert log == ["a", "b", "a", "b"]

    def test_a_database_from_the_future_is_refused_and_not_touched(self, database: StandardDatabase) -> None:
        log: list[str] = []
        migrate(database, deadline_s=1, migrations=(*MIGRATIONS, step(log, "of tomorrow")))
        with pytest.raises(StoreUnavailable, match="of tomorrow"):
            migrate(database, deadline_s=1)

    async def test_typed_memories_of_an_earlier_release_are_facts(
        self, server: ArangoStandIn, database: StandardDatabase, make: SimpleNamespace
    ) -> None:
        before = [migration.name for migration in MIGRATIONS].index("typed memories are facts")
        migrate(database, deadline_s=1, migrations=MIGRATIONS[:before])
        memories = [make.typed_memory("room", value, user_id="zoé", memory_id=value) for value in ("101", "102")]
        for memory in memories:
            body = memory.model_dump_json(exclude={"subject", "sources"})
            document = {"_key": memory.memory_id, "user_id": ascii_of("zoé"), "body": body}
            result(database.aql.execute("INSERT @document INTO aam_memories", bind_vars={"document": document}))
        record = await asyncio.to_thread(ArangoRecord.open, ArangoSettings(server.url, "jiyi"))
        async with record.reading(user_id="zoé") as unit:
            assert await unit.typed_memories.page(limit=9) == memories
            assert [fact.object for fact in await unit.facts.find_potential_conflicts("user", "room")] == ["101", "102"]
        await record.close()

    async def test_several_processes_may_open_a_new_database_at_once(self, server: ArangoStandIn) -> None:
        settings = ArangoSettings(server.url, "jiyi")
        records = await asyncio.gather(*(asyncio.to_thread(ArangoRecord.open, settings) for _ in range(4)))
        for record in records:
            assert (await record.backlog.counts())["users"] == 0
            await record.close()


class TestStatements:
    @pytest.mark.parametrize("name", STATEMENTS)
    def test_every_statement_of_a_unit_of_work_filters_by_its_user(self, name: str) -> None:
        across_users = name.startswith("ALL_") or "MIGRATION" in name
        assert ("@user" in STATEMENTS[name]) is not across_users

    @pytest.mark.parametrize("name", STATEMENTS)
    def test_every_loop_over_a_collection_names_the_user(self, name: str) -> None:
        if name.startswith("ALL_") or "MIGRATION" in name:
            return
        loops = re.findall(r"FOR (\w+) IN (?:@@collection|[a-z_]+)\b", STATEMENTS[name])
        assert all(f"{variable}.user_id == @user" in STATEMENTS[name] for variable in loops)

    @pytest.mark.parametrize("name", [name for name, text in STATEMENTS.items() if " ANY " in text])
    def test_every_traversal_names_its_vertices_and_filters_what_it_emits(self, name: str) -> None:
        assert STATEMENTS[name].strip().startswith("WITH ")
        assert "FILTER v.user_id == @user AND e.user_id == @user" in STATEMENTS[name]
