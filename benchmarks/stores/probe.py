"""Measures filled stores in a process of its own: start, memory, latencies. Started by `benchmarks.stores`.

python -m benchmarks.stores.probe '{"part": "index", "backend": "embedded", "home": "DIR", ...}'
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stores.backends import Backend, close, open_index, open_record
from benchmarks.stores.workload import HEAVY, Question, Workload
from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import Collection, IndexQuery, VectorIndex

_CANDIDATES = 30
_STATUS = Path("/proc/self/status")
_MIB = 2**20

UserQuestions = list[tuple[str, Question]]
Call = Callable[[str, Question], Awaitable[Any]]


def main() -> None:
    """Measures one part and prints one JSON line."""
    job = json.loads(sys.argv[1])
    workload = Workload(entities=job["entities"], users=job["users"], heavy=job["heavy"])
    questions = _user_questions(workload, job["queries"])
    heavy = [(HEAVY, question) for question in workload.questions(HEAVY, job["queries"])]
    part = {"index": _index, "record": _record, "hybrid": _hybrid}[job["part"]]
    print(json.dumps(asyncio.run(part(Backend(job["backend"]), Path(job["home"]), workload, questions, heavy))))


def _user_questions(workload: Workload, count: int) -> UserQuestions:
    users = random.Random(11).choices(workload.users, k=count)
    return [(user, workload.questions(user, 1)[0]) for user in users]


async def _index(
    backend: Backend, home: Path, workload: Workload, questions: UserQuestions, heavy: UserQuestions
) -> dict[str, Any]:
    before = _memory()
    begin = time.perf_counter()
    index = open_index(backend, home)
    opened = time.perf_counter()
    await search(index, *questions[0])
    searched = time.perf_counter()
    ready = _memory()
    result = {
        "open_s": opened - begin,
        "first_search_s": searched - opened,
        "memory_ready_mib": _grown(before, ready),
        "search_first_touch_ms": await _latencies(questions, lambda user, query: search(index, user, query)),
        "search_ms": await _latencies(questions, lambda user, query: search(index, user, query)),
        "dense_ms": await _latencies(questions, lambda user, query: search(index, user, query, sparse=False)),
        "sparse_ms": await _latencies(questions, lambda user, query: search(index, user, query, dense=False)),
        "heavy_search_ms": await _latencies(heavy, lambda user, query: search(index, user, query), warm=True),
        "count_ms": await _latencies(questions, lambda user, _: index.count(Collection.ENTITIES, user_id=user)),
        "memory_used_mib": _grown(before, _memory()),
    }
    begin = time.perf_counter()
    await index.users(Collection.ENTITIES)
    result["users_s"] = time.perf_counter() - begin
    await close(index)
    return result


async def _record(
    backend: Backend, home: Path, workload: Workload, questions: UserQuestions, heavy: UserQuestions
) -> dict[str, Any]:
    before = _memory()
    begin = time.perf_counter()
    record = open_record(backend, home)
    opened = time.perf_counter()
    await _found_in(record, *questions[0])
    found = time.perf_counter()
    counts_s = []
    for _ in range(3):
        counting = time.perf_counter()
        counts = await record.backlog.counts()
        counts_s.append(time.perf_counter() - counting)
    counting = time.perf_counter()
    users = await record.backlog.users(limit=1_000_000)
    users_s = time.perf_counter() - counting
    result: dict[str, Any] = {
        "open_s": opened - begin,
        "first_read_s": found - opened,
        "counts": dict(counts),
        "counts_s": sorted(counts_s)[1],
        "counts_first_s": counts_s[0],
        "users_s": users_s,
        "users": len(users),
        "found_in_ms": await _latencies(questions, lambda user, query: _found_in(record, user, query), warm=True),
        "outbox_ms": await _latencies(
            questions, lambda user, _: record.backlog.outbox(limit=64, user_id=user), warm=True
        ),
    }
    for name, chosen in (("", questions), ("heavy_", heavy)):
        starts = _starts(workload, chosen)
        for depth in (1, 2, 3):

            async def walk(user_id: str, question: Question, depth: int = depth, starts: Any = starts) -> None:
                async with record.reading(user_id=user_id) as unit:
                    await unit.relations.related(starts[question.text, user_id], depth=depth)

            result[f"{name}hops_{depth}_ms"] = await _latencies(chosen, walk, warm=True)
    result["memory_used_mib"] = _grown(before, _memory())
    await close(record)
    return result


async def _hybrid(
    backend: Backend, home: Path, workload: Workload, questions: UserQuestions, heavy: UserQuestions
) -> dict[str, Any]:
    record, index = open_record(backend, home), open_index(backend, home)
    sizes: list[int] = []

    async def whole(user_id: str, question: Question) -> None:
        ids = await search(index, user_id, question)
        async with record.reading(user_id=user_id) as unit:
            await unit.entities.found_in(question.text)
            sizes.append(len(await unit.entities.get(ids)))

    result = {
        "hybrid_ms": await _latencies(questions, whole, warm=True),
        "heavy_hybrid_ms": await _latencies(heavy, whole, warm=True),
        "candidates_mean": round(sum(sizes) / len(sizes), 1),
    }
    await close(index)
    await close(record)
    return result


async def search(
    index: VectorIndex, user_id: str, question: Question, *, dense: bool = True, sparse: bool = True
) -> list[str]:
    """Candidates as the retriever's legs ask for them, both in one call."""
    queries = []
    if dense:
        queries.append(IndexQuery(Collection.ENTITIES, _CANDIDATES, dense=question.dense))
    if sparse:
        queries.append(IndexQuery(Collection.ENTITIES, _CANDIDATES, sparse=question.sparse))
    found = await index.search(queries, user_id=user_id)
    return list(dict.fromkeys(point.point_id for points in found for point in points))


async def _found_in(record: SystemOfRecord, user_id: str, question: Question) -> None:
    async with record.reading(user_id=user_id) as unit:
        await unit.entities.found_in(question.text)


def _starts(workload: Workload, questions: UserQuestions) -> dict[tuple[str, str], str]:
    chooser = random.Random(13)
    return {(query.text, user): workload.id(user, chooser.randrange(workload.count(user))) for user, query in questions}


async def _latencies(questions: UserQuestions, call: Call, *, warm: bool = False) -> dict[str, float]:
    """Milliseconds of each call, one after the other, and of processor time; `warm` does all of them once before."""
    if warm:
        await _latencies(questions, call)
    taken, cpu = [], []
    for user_id, question in questions:
        begin, begin_cpu = time.perf_counter(), time.process_time()
        await call(user_id, question)
        taken.append((time.perf_counter() - begin) * 1e3)
        cpu.append((time.process_time() - begin_cpu) * 1e3)
    figures = {"p50": np.percentile(taken, 50), "p95": np.percentile(taken, 95), "cpu_p50": np.percentile(cpu, 50)}
    return {name: round(float(figure), 3) for name, figure in figures.items()}


def _memory() -> dict[str, float]:
    """What this process holds, in MiB: all of it, its own, and pages of files that the system may take back."""
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return {
        name: int(lines[key].split()[0]) * 1024 / _MIB
        for name, key in (("rss", "VmRSS"), ("own", "RssAnon"), ("files", "RssFile"))
    }


def _grown(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {"total_rss": round(after["rss"])} | {name: round(after[name] - before[name], 1) for name in after}


if __name__ == "__main__":
    main()
