"""Measures which share of the entities learned from real conversations is right, on a sample that a person judges.

Every conversation is one user's; all of it goes through the learner as the service runs it, with stores in memory and
an encoder that answers at once (nothing here depends on vectors). A name counts as right where it names one thing that
a user may ask about later, cut where the name begins and ends.

Usage:
    python -m benchmarks.extraction.learned_entities sample DATA --cache FOLDER [--size 200] [--unlike FILE] > \
        sample.tsv
    python -m benchmarks.extraction.learned_entities score FILE...
    python -m benchmarks.extraction.learned_entities replay DATA --cache FOLDER
DATA is a folder with `locomo`, `memorybank` and `memdaily_zh`, FOLDER one of prepared weights. A judged file has the
verdict in its first column: `1` right, `0` wrong; a word in the second column names the kind of error. `replay` learns
every conversation twice and counts entities with the same letters and digits, entities that are no names (`junk`), and
entities that only the second pass added; its last line is JSON.
"""

import argparse
import asyncio
import csv
import json
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from jiyi.conversations import Conversation, RecordedTurn, read_conversations
from memory.extraction.extractor import ReadingExtractor
from memory.extraction.junk import is_junk
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.ports.models.language import Extractor
from memory.values.entities import Entity, EntityStatus
from memory.values.records import Memory, Resource
from memory.values.text import normalise
from memory.values.understanding.dialogue import Role
from models.encoder.batched_encoder import BatchedEncoder
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.encoder import FakeEncoderEngine

COLUMNS = ("right", "error", "set", "user", "entity", "subtype", "confidence", "mentions", "said")
_TAKES = {
    "locomo": "locomo/locomo.json",
    "memorybank": "memorybank/memory_bank_*.json",
    "memdaily": "memdaily_zh/*.json",
}
_DIMENSION = 8


def conversations(data: Path, name: str, *, skip: int = 0, take: int = 20) -> Iterator[Conversation]:
    """The conversations of one set; of each MemDaily file some trajectories, after `skip` others."""
    for path in sorted(data.glob(_TAKES[name])):
        if name != "memdaily":
            yield from read_conversations(path)
            continue
        for item in json.loads(path.read_text())[skip : skip + take]:
            start = datetime(2024, 4, 1, 9, tzinfo=UTC)
            turns = [
                RecordedTurn(
                    "s",
                    str(message["mid"]),
                    "user",
                    message["message"],
                    created_at=start + timedelta(hours=message["mid"]),
                )
                for message in item["message_list"]
            ]
            yield Conversation(f"{path.stem}-{item['tid']}", turns)


@asynccontextmanager
async def open_extractor(cache: Path) -> AsyncIterator[Extractor]:
    """The extractor of the service with prepared weights."""
    from models.assets.weight_files import shipped_weight_file
    from models.reader.reader import BatchedReader, TrainedReader

    reader = BatchedReader(TrainedReader(shipped_weight_file("reader"), cache, threads=1))
    yield ReadingExtractor(reader)
    await reader.model.close()


async def learned(
    conversation: Conversation, *, extractor: Extractor, times: int = 1
) -> tuple[list[Entity], list[Memory]]:
    """The entities and memories after a conversation was learned `times` times."""
    record, index = InMemoryRecord(), InMemoryVectors(dimension=_DIMENSION)
    encoder = BatchedEncoder(FakeEncoderEngine(dimension=_DIMENSION))
    learner = Learner(
        record=record,
        extractor=extractor,
        indexer=Indexer(record=record, spaces=OneSpace(encoder=encoder, index=index), analyzer=KeywordAnalyzer()),
    )
    user = conversation.user
    for time in range(times):
        await record.append([_resource(turn, user, time) for turn in conversation.turns], user_id=user)
        await learner.learn(user_id=user)
    await encoder.close()
    async with record.reading(user_id=user) as unit:
        entities = await unit.entities.page(limit=2**31 - 1)
        memories = await unit.memories.page(limit=2**31 - 1)
    return [entity for entity in entities if entity.mention_count and entity.status is EntityStatus.ACTIVE], memories


def _resource(turn: RecordedTurn, user: str, time: int) -> Resource:
    assert turn.created_at is not None
    return Resource(
        resource_id=f"{turn.session_id}/{turn.turn_id}/{time}",
        user_id=user,
        session_id=turn.session_id,
        role=Role(turn.role),
        speaker=turn.speaker,
        content=turn.content,
        created_at=turn.created_at,
    )


async def sample(
    data: Path,
    extractor: Extractor,
    *,
    sets: Sequence[str],
    size: int,
    seed: int,
    skip: int = 0,
    take: int = 20,
    unlike: Sequence[Path] = (),
) -> list[dict[str, str]]:
    """A random sample of learned entities, no name twice in a set, and the same number from each set.

    A set with too few names leaves its share to the others. Names in the files of `unlike` are left out.
    """
    seen = {(row["set"], normalise(row["entity"])) for path in unlike for row in read(path)}
    found: dict[str, list[dict[str, str]]] = {}
    for name in sets:
        distinct: dict[str, dict[str, str]] = {}
        for conversation in conversations(data, name, skip=skip, take=take):
            entities, memories = await learned(conversation, extractor=extractor)
            spoken = {id_: memory.text for memory in memories for id_ in memory.entity_ids}
            for entity in entities:
                if (name, entity.normalised_value) not in seen:
                    row = _row(name, conversation.user, entity, spoken.get(entity.entity_id, ""))
                    distinct.setdefault(entity.normalised_value, row)
        found[name] = random.Random(seed).sample(list(distinct.values()), len(distinct))
        print(f"{name}: {len(distinct)} names", file=sys.stderr)
    rows: list[dict[str, str]] = []
    for left, name in zip(range(len(found), 0, -1), sorted(found, key=lambda name: len(found[name])), strict=True):
        rows += found[name][: (size - len(rows)) // left]
    return rows


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a sample."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _row(name: str, user: str, entity: Entity, text: str) -> dict[str, str]:
    at = text.casefold().find(entity.entity_value.casefold())
    shown = text[max(0, at - 50) : at + 60] if at >= 0 else text[:110]
    return {
        "right": "",
        "error": "",
        "set": name,
        "user": user,
        "entity": entity.entity_value,
        "subtype": entity.subtype.value if entity.subtype else "",
        "confidence": f"{entity.confidence:.2f}",
        "mentions": str(entity.mention_count),
        "said": " ".join(shown.split()),
    }


def score(paths: Sequence[Path]) -> None:
    """Prints the precision of judged samples, with its 95% interval (Wilson), and the errors by kind."""
    for path in paths:
        rows = read(path)
        right, n = sum(row["right"] == "1" for row in rows), len(rows)
        share, z = right / n, 1.96
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        spread = z * ((share * (1 - share) + z * z / (4 * n)) / n) ** 0.5 / (1 + z * z / n)
        by_set = {
            name: round(sum(row["right"] == "1" for row in of_set) / len(of_set), 3)
            for name in _TAKES
            if (of_set := [row for row in rows if row["set"] == name])
        }
        errors = Counter(row["error"] for row in rows if row["right"] != "1")
        result = {
            "file": path.name,
            "judged": n,
            "precision": round(share, 3),
            "interval": [round(middle - spread, 3), round(middle + spread, 3)],
            "sets": by_set,
            "errors": dict(errors.most_common()),
        }
        print(json.dumps(result, ensure_ascii=False))


async def replay(data: Path, extractor: Extractor, *, sets: Sequence[str], skip: int, take: int) -> dict[str, object]:
    """Counts of duplicate, junk and late entities after learning every conversation twice; see the module."""
    figures: Counter[str] = Counter()
    for name in sets:
        for conversation in conversations(data, name, skip=skip, take=take):
            once, _ = await learned(conversation, extractor=extractor)
            twice, _ = await learned(conversation, extractor=extractor, times=2)
            letters = Counter(bare(entity) for entity in twice)
            figures["entities"] += len(twice)
            figures["doubled"] += sum(count - 1 for count in letters.values())
            figures["junk"] += sum(is_junk(entity.entity_value) for entity in twice)
            figures["new_at_second_hearing"] += len(
                {entity.entity_id for entity in twice} - {entity.entity_id for entity in once}
            )
    total = figures["entities"]
    return {**figures, "duplicate_rate": figures["doubled"] / total, "junk_rate": figures["junk"] / total}


def bare(entity: Entity) -> str:
    """The letters and digits of a normalised name, which its spellings have in common."""
    return "".join(character for character in entity.normalised_value if character.isalnum())


async def _run(arguments: argparse.Namespace) -> None:
    chosen = {"sets": arguments.sets, "skip": arguments.skip, "take": arguments.take}
    async with open_extractor(arguments.cache) as extractor:
        if arguments.command == "replay":
            print(json.dumps(await replay(arguments.data, extractor, **chosen)))
            return
        rows = await sample(
            arguments.data, extractor, size=arguments.size, seed=arguments.seed, unlike=arguments.unlike, **chosen
        )
    writer = csv.DictWriter(sys.stdout, COLUMNS, delimiter="\t", quoting=csv.QUOTE_NONE, escapechar="\\")
    writer.writeheader()
    writer.writerows(rows)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    sampling = commands.add_parser("sample")
    sampling.add_argument("--size", type=int, default=200)
    sampling.add_argument("--seed", type=int, default=1)
    sampling.add_argument("--unlike", type=Path, nargs="*", default=[], help="samples whose names are left out")
    for command in (sampling, commands.add_parser("replay")):
        command.add_argument("data", type=Path)
        command.add_argument("--cache", type=Path, required=True, help="folder of prepared weights")
        command.add_argument("--sets", nargs="*", choices=sorted(_TAKES), default=sorted(_TAKES))
        command.add_argument("--take", type=int, default=20, help="MemDaily trajectories of each file")
        command.add_argument("--skip", type=int, default=0, help="MemDaily trajectories of each file to leave out")
    scoring = commands.add_parser("score")
    scoring.add_argument("files", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "score":
        score(arguments.files)
    else:
        asyncio.run(_run(arguments))


if __name__ == "__main__":
    main()
