"""What a store has acknowledged is there after its process was killed."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

from memory.ports.vectors import Collection, IndexQuery
from storage.edge_vectors import EdgeVectors
from storage.sqlite_record import SqliteRecord

KILLED_AFTER = 25


def acknowledged_before_kill(code: str) -> list[str]:
    """Runs a program that prints each name once its write is acknowledged, and kills it in the middle."""
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    names = [process.stdout.readline().strip() for _ in range(KILLED_AFTER)]
    process.send_signal(signal.SIGKILL)
    names += process.stdout.read().splitlines()
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assert len(names) >= KILLED_AFTER
    return names


async def test_vectors_survive_a_killed_process(tmp_path: Path, make: SimpleNamespace) -> None:
    names = acknowledged_before_kill(f"""
        import asyncio, itertools, pathlib, uuid
        import numpy as np
        from memory.ports.vectors import Collection, IndexPoint, SparseVector
        from storage.edge_vectors import EdgeVectors

        async def main():
            index = EdgeVectors.open(pathlib.Path({str(tmp_path)!r}), model_id="e5", dimension=4)
            for n in itertools.count():
                name = str(uuid.uuid5(uuid.NAMESPACE_OID, str(n)))
                dense = np.array([1, 0, 0, 0], dtype=np.float32)
                point = IndexPoint(name, dense, SparseVector((n,), (1.0,)), created_at_s=n, metadata={{"n": n}})
                await index.upsert(Collection.MEMORIES, [point], user_id="ann")
                print(name, flush=True)

        asyncio.run(main())
    """)
    index = EdgeVectors.open(tmp_path, model_id="e5", dimension=4)
    query = IndexQuery(Collection.MEMORIES, 100_000, dense=make.point("any").dense)
    (hits,) = await index.search([query], user_id="ann")
    assert {hit.point_id for hit in hits} >= set(names)
    await index.close()


async def test_the_record_survives_a_killed_process_and_keeps_nothing_uncommitted(
    tmp_path: Path, make: SimpleNamespace
) -> None:
    names = acknowledged_before_kill(f"""
        import asyncio, itertools, pathlib
        from memory.records import Resource
        from memory.values import utc_now
        from storage.sqlite_record import SqliteRecord

        async def main():
            record = SqliteRecord.open(pathlib.Path({str(tmp_path / "record.db")!r}))
            for n in itertools.count():
                made = [
                    Resource(
                        resource_id=f"{{half}}{{n}}",
                        user_id="ann",
                        session_id="s",
                        content="c",
                        created_at=utc_now(),
                    )
                    for half in "ab"
                ]
                async with record.writing(user_id="ann") as unit:
                    await unit.log.append(made[:1])
                    await unit.log.append(made[1:])
                    await unit.commit()
                print(n, flush=True)

        asyncio.run(main())
    """)
    record = SqliteRecord.open(tmp_path / "record.db")
    async with record.writing(user_id="ann") as unit:
        found = [one.resource_id for one in await unit.log.session("s", limit=100_000)]
        await unit.log.append([make.resource("after")])
        await unit.commit()
    assert {f"a{name}" for name in names} <= set(found)
    assert {name[1:] for name in found if name[0] == "a"} == {name[1:] for name in found if name[0] == "b"}
    await record.close()
