"""Finding names in a text: the same by probing an index (SQLite) and by looking at every name (the fake)."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.ports.stores.record import SystemOfRecord
from memory.values.entities import EntityStatus
from storage.inmemory.record import InMemoryRecord
from storage.sqlite.record import SqliteRecord

LETTERS = "ab1_é- ．Ｂ我他宏康鴻鸿ひカーйß"


async def found(record: SystemOfRecord, text: str, entities: Any) -> list[str]:
    async with record.writing(user_id="ann") as unit:
        await unit.entities.save(entities)
        return [entity.entity_value for entity in await unit.entities.found_in(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我在宏康HCI上班", ["宏康HCI", "HCI", "宏康"]),
        ("宏康 hci 和鴻海", ["宏康HCI", "HCI", "宏康", "鸿海"]),
        ("宏康HCIX", ["宏康"]),
        ("we use HCI, not XHCI", ["HCI"]),
        ("HCI2 and HCI_2", []),
        ("ask Ann Lee's friend", ["Ann Lee", "Ann"]),
        ("Anne Leeds", []),
        ("用Ann的電腦", ["Ann"]),
        ("release 1.2 of it", ["1.2"]),
        ("release 1.20", []),
        ("ＨＣＩ", ["HCI"]),
        ("カラオケに行く", ["カラオケ"]),
        ("", []),
        ("   ", []),
    ],
)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_names_are_found_as_a_reader_would(
    tmp_path: Path, make: SimpleNamespace, kind: str, text: str, expected: Any
) -> None:
    record = InMemoryRecord() if kind == "memory" else SqliteRecord.open(tmp_path / "record.db")
    names = ["宏康HCI", "宏康", "HCI", "鸿海", "Ann", "Ann Lee", "1.2", "カラオケ"]
    entities = [make.entity(name) for name in names] + [make.entity("上班", status=EntityStatus.ARCHIVED)]
    assert await found(record, text, entities) == expected
    await record.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_an_entity_with_many_names_in_the_text_is_found_once_by_its_longest(
    tmp_path: Path, make: SimpleNamespace, kind: str
) -> None:
    record = InMemoryRecord() if kind == "memory" else SqliteRecord.open(tmp_path / "record.db")
    entities = [make.entity("台積電", "TSMC", "台灣積體電路製造"), make.entity("新竹科學園區")]
    text = "TSMC（台灣積體電路製造，台積電）在新竹科學園區"
    assert await found(record, text, entities) == ["台積電", "新竹科學園區"]
    await record.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_name_of_any_length_is_found(tmp_path: Path, make: SimpleNamespace, kind: str) -> None:
    record = InMemoryRecord() if kind == "memory" else SqliteRecord.open(tmp_path / "record.db")
    names = ["我" * length for length in (1, 2, 31, 32, 33, 200)] + ["long " * 20 + "name"]
    entities = [make.entity(name) for name in names]
    *short, longest, latin = names
    assert await found(record, f"在{latin}，{longest}。", entities) == [longest, latin, *reversed(short)]
    assert await found(record, longest[:199], entities) == [*reversed(short)]
    await record.close()


@pytest.mark.parametrize("text", ["\ud800宏康\x00", "宏康\udfff", "a\x00宏康"])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_broken_text_is_searched_all_the_same(
    tmp_path: Path, make: SimpleNamespace, kind: str, text: str
) -> None:
    record = InMemoryRecord() if kind == "memory" else SqliteRecord.open(tmp_path / "record.db")
    assert await found(record, text, [make.entity("宏康")]) == ["宏康"]
    await record.close()


names = st.text(LETTERS, min_size=1, max_size=40).filter(lambda name: name.strip() != "")


@settings(max_examples=60)
@given(
    names=st.lists(names, min_size=1, max_size=12, unique=True),
    fillers=st.lists(st.text(LETTERS, max_size=6), min_size=1, max_size=5),
    data=st.data(),
)
def test_probing_finds_what_looking_at_every_name_finds(
    tmp_path_factory: pytest.TempPathFactory, make: SimpleNamespace, names: Any, fillers: Any, data: Any
) -> None:
    inserted = data.draw(st.lists(st.sampled_from(names), max_size=len(fillers)))
    text = "".join(filler + name for filler, name in zip(fillers, [*inserted, *[""] * len(fillers)], strict=False))

    async def both() -> tuple[list[str], list[str]]:
        entities = [make.entity(name) for name in names]
        by_looking = InMemoryRecord()
        by_probing = SqliteRecord.open(tmp_path_factory.mktemp("names") / "record.db", durable=False, readers=1)
        try:
            return await found(by_looking, text, entities), await found(by_probing, text, entities)
        finally:
            await by_probing.close()

    looked, probed = asyncio.run(both())
    assert probed == looked
