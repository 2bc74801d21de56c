"""What only the embedded index has: files, which may be another process's, another release's, or damaged."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import qdrant_edge as edge

from memory.ports.stores.vectors import ADDED_LATER, LANGUAGE, PAYLOAD_FIELDS, Collection, IndexQuery
from memory.values.errors import StoreUnavailable
from memory.values.vectors import SparseVector
from storage.edge.errors import translate_errors
from storage.edge.requests import Requests
from storage.edge.shards import OutdatedShard, discard, open_shard
from storage.edge.vectors import EdgeVectors
from storage.shared.encryption import NO_CIPHER
from storage.shared.index_points import indexed_fields, stored_id

MEMORIES = Collection.MEMORIES


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, make: SimpleNamespace) -> Path:
    """An empty index: making its many small files takes seconds on a busy disk, copying them does not."""
    folder = tmp_path_factory.mktemp("template") / "vectors"
    asyncio.run(EdgeVectors.open(folder, model_id="e5", dimension=make.DIMENSION).close())
    return folder


@pytest.fixture
def files(template: Path, tmp_path: Path) -> Path:
    """A copy of the template."""
    return Path(shutil.copytree(template, tmp_path / "vectors", copy_function=copy_sparse))


def copy_sparse(source: str, target: str) -> None:
    """Copies a file without its holes: the engine's are nearly all hole."""
    with Path(source).open("rb") as read, Path(target).open("wb") as write:
        size, end = os.fstat(read.fileno()).st_size, 0
        with contextlib.suppress(OSError):  # that there is no data after `end`
            while end < size:
                start = os.lseek(read.fileno(), end, os.SEEK_DATA)
                end = os.lseek(read.fileno(), start, os.SEEK_HOLE)
                os.lseek(read.fileno(), start, os.SEEK_SET)
                write.seek(start)
                write.write(os.read(read.fileno(), end - start))
        write.truncate(size)


def opened(folder: Path, make: SimpleNamespace, *, model_id: str = "e5") -> EdgeVectors:
    return EdgeVectors.open(folder, model_id=model_id, dimension=make.DIMENSION)


def dense(*numbers: float, limit: int = 10) -> IndexQuery:
    return IndexQuery(MEMORIES, limit, dense=np.asarray(numbers, dtype=np.float32))


def sparse(*terms: int, limit: int = 10) -> IndexQuery:
    return IndexQuery(MEMORIES, limit, sparse=SparseVector(terms, (1.0,) * len(terms)))


async def test_points_are_there_after_a_reload(files: Path, make: SimpleNamespace) -> None:
    for expected in (0, 1):
        index = EdgeVectors.open(files, model_id="e5", dimension=make.DIMENSION)
        assert await index.count(MEMORIES, user_id="ann") == expected
        await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
        await index.close()


async def test_each_collection_and_model_has_its_folder_whatever_a_crashed_start_left(
    tmp_path: Path, make: SimpleNamespace
) -> None:
    half = tmp_path / "ai_box_aam_memory__intfloat%2Fe5.new" / "segments"  # of a start that crashed
    half.mkdir(parents=True)
    index = EdgeVectors.open(tmp_path, model_id="intfloat/e5", dimension=make.DIMENSION)
    await index.close()
    assert sorted(os.listdir(tmp_path)) == [
        "aam_entities__intfloat%2Fe5",
        "ai_box_aam_memory__intfloat%2Fe5",
        "ai_box_entity_memory__intfloat%2Fe5",
        "aliases.json",
        "knowledge__intfloat%2Fe5",
    ]


async def test_vectors_of_another_model_or_length_are_refused(files: Path, make: SimpleNamespace) -> None:
    with pytest.raises(StoreUnavailable, match="ai_box_entity_memory__e5 is live, but the model is mpnet"):
        EdgeVectors.open(files, model_id="mpnet", dimension=make.DIMENSION)
    with pytest.raises(StoreUnavailable, match="vectors of length 4, not 8"):
        EdgeVectors.open(files, model_id="e5", dimension=8)


async def test_one_owner_at_a_time(files: Path, make: SimpleNamespace) -> None:
    owner = EdgeVectors.open(files, model_id="e5", dimension=make.DIMENSION)
    with pytest.raises(StoreUnavailable, match="another process") as caught:
        EdgeVectors.open(files, model_id="e5", dimension=make.DIMENSION)
    assert caught.value.component == "vectors"
    await owner.close()
    await EdgeVectors.open(files, model_id="e5", dimension=make.DIMENSION).close()


@pytest.mark.parametrize("content", ["", "[]", "{"])
async def test_a_broken_alias_file_is_no_reason_to_start_empty(
    files: Path, make: SimpleNamespace, content: str
) -> None:
    (files / "aliases.json").write_text(content)
    with pytest.raises(StoreUnavailable, match=r"aliases.json is damaged .*jiyi index rebuild"):
        EdgeVectors.open(files, model_id="e5", dimension=make.DIMENSION)


async def test_nothing_answers_after_close(files: Path, make: SimpleNamespace) -> None:
    index = EdgeVectors.open(files, model_id="e5", dimension=make.DIMENSION)
    await index.close()
    await index.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await index.search([sparse(1)], user_id="ann")


async def test_vacuum_and_flush_change_no_result(files: Path, make: SimpleNamespace) -> None:
    index = EdgeVectors.open(files, model_id="e5", dimension=make.DIMENSION)
    for _ in range(3):
        await index.upsert(MEMORIES, [make.point(str(n), terms={n % 7: 1.0}) for n in range(900)], user_id="ann")
    await index.delete(MEMORIES, [make.point_id(str(n)) for n in range(500)], user_id="ann")
    queries = [sparse(1, 2, limit=900), dense(1, 0, 0, 0, limit=900)]
    before = await index.search(queries, user_id="ann")
    await index.vacuum()
    await index.flush()
    assert await index.search(queries, user_id="ann") == before
    await index.close()


def write_shard(folder: Path, *, name: str = "ai_box_aam_memory__e5") -> Path:
    """A shard as version 0.1.0 made it, with a point of each of two users and fewer indexes."""
    shard_folder = folder / name
    shard_folder.mkdir(parents=True)
    shard = edge.EdgeShard.create(
        str(shard_folder),
        edge.EdgeConfig(
            vectors={"dense": edge.EdgeVectorParams(size=4, distance=edge.Distance.Cosine)},
            sparse_vectors={"sparse": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        ),
    )
    point_id = "6ba7b811-9dad-11d1-80b4-00c04fd430c8"
    payload = {"point_id": point_id, "created_at_s": 5.0, "metadata": ['["k",1]'], "session_id": "s"}
    vectors: Any = {"dense": [1.0, 0.0, 0.0, 0.0], "sparse": edge.SparseVector([1], [1.0])}
    shard.update(edge.UpdateOperation.create_field_index("user_id", edge.KeywordIndexParams(is_tenant=True)))
    for user in ("ann", "bob"):  # the last operation is replayed at each start: what it wrote is never damaged
        point = edge.Point(stored_id(user, point_id), vectors, payload | {"user_id": user})
        shard.update(edge.UpdateOperation.upsert_points([point]))
    shard.flush()
    shard.close()
    return shard_folder


async def test_files_of_the_first_release_are_set_aside_since_their_points_lack_fields(
    tmp_path: Path, make: SimpleNamespace
) -> None:
    for name in ("ai_box_entity_memory__e5", "ai_box_aam_memory__e5"):
        write_shard(tmp_path, name=name)
    (tmp_path / "aliases.json").write_text(
        '{"ai_box_entity_memory": "ai_box_entity_memory__e5", "ai_box_aam_memory": "ai_box_aam_memory__e5"}'
    )
    index = opened(tmp_path, make)
    for collection in Collection:
        schema = index._shards[collection].info().payload_schema
        assert schema.keys() == indexed_fields(collection).keys() >= PAYLOAD_FIELDS[collection].keys()
        assert await index.users(collection) == []
    await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
    await index.close()
    assert sum(".discarded-" in name for name in os.listdir(tmp_path)) == 2
    again = opened(tmp_path, make)
    assert await again.count(MEMORIES, user_id="ann") == 1
    await again.close()


def noise(file: Path) -> None:
    file.write_bytes(b"\xff" * 999)


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "its settings are cut off": ("edge_config.json", lambda file: os.truncate(file, 40)),
    "its settings are missing": ("edge_config.json", Path.unlink),
    "a segment has no state": ("segments/*/segment.json", Path.unlink),
    "a segment's ids are noise": (
        "segments/*/mutable_id_tracker.mappings",
        noise,
    ),
    "payloads are missing": ("segments/*/payload_storage/page_0.dat", Path.unlink),
    "the engine panics": ("segments/*/vector_storage-dense/vectors/status.dat", lambda file: os.truncate(file, 1)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_shard_says_how_to_get_well_and_can_be_set_aside(tmp_path: Path, damage: str) -> None:
    shard = write_shard(tmp_path)
    (tmp_path / "aliases.json").write_text('{"ai_box_aam_memory": "ai_box_aam_memory__e5"}')
    pattern, harm = DAMAGES[damage]
    files = sorted(shard.glob(pattern))
    assert files
    for file in files:
        harm(file)
    with pytest.raises(StoreUnavailable, match=r"ai_box_aam_memory__e5 is damaged .*run `jiyi index rebuild`"):
        open_shard(shard, collection=MEMORIES, dimension=4)
    (aside,) = discard(tmp_path, [MEMORIES])
    assert aside.name.startswith("ai_box_aam_memory__e5.discarded-")
    assert aside.exists()
    assert not shard.exists()


def test_damage_that_shows_while_working_is_an_outage_and_no_crash(tmp_path: Path) -> None:
    folder = write_shard(tmp_path)
    for file in folder.glob("segments/*/vector_storage-dense/vectors/chunk_*"):
        file.unlink()
    shard = edge.EdgeShard.load(str(folder))
    with pytest.raises(StoreUnavailable, match="run `jiyi index rebuild`"):
        translate_errors(lambda: shard.query(Requests(NO_CIPHER).search(dense(1, 0, 0, 0), "ann")))
    assert translate_errors(lambda: shard.count(edge.CountRequest())) == 2
    shard.close()


def test_our_own_errors_are_not_taken_for_the_engines() -> None:
    with pytest.raises(ZeroDivisionError):
        translate_errors(lambda: 1 // 0)


async def test_discarding_moves_the_live_shards_and_the_next_start_is_empty(files: Path, make: SimpleNamespace) -> None:
    index = opened(files, make)
    await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
    with pytest.raises(StoreUnavailable, match="another process"):
        discard(files)
    await index.close()
    (files / "ai_box_aam_memory__other").mkdir()
    moved = discard(files)
    assert sorted(path.name.partition(".discarded-")[0] for path in moved) == [
        "aam_entities__e5",
        "ai_box_aam_memory__e5",
        "ai_box_entity_memory__e5",
        "knowledge__e5",
    ]
    assert (files / "ai_box_aam_memory__other").exists()
    assert discard(files) == []
    index = opened(files, make, model_id="mpnet")
    assert await index.users(MEMORIES) == []
    await index.close()


def test_with_a_broken_alias_file_all_shards_are_discarded(tmp_path: Path) -> None:
    write_shard(tmp_path)
    write_shard(tmp_path, name="aam_entities__e5")
    (tmp_path / "aliases.json").write_text("{")
    assert len(discard(tmp_path, [MEMORIES])) == 1
    assert (tmp_path / "aliases.json").read_text() == "{}"
    (tmp_path / "aliases.json").write_text("{")
    assert len(discard(tmp_path)) == 1
    assert discard(tmp_path) == []


def test_discarding_where_nothing_is_does_nothing(tmp_path: Path) -> None:
    assert discard(tmp_path / "absent") == []
    assert discard(tmp_path) == []


def test_another_process_that_owns_the_files_is_named_as_the_cause(tmp_path: Path) -> None:
    folder = write_shard(tmp_path)
    program = textwrap.dedent(
        """
        import sys, qdrant_edge
        shard = qdrant_edge.EdgeShard.load(sys.argv[1])
        print("open", flush=True)
        sys.stdin.read()
        """
    )
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        with pytest.raises(StoreUnavailable, match="belongs to another process"):
            open_shard(folder, collection=MEMORIES, dimension=4)
        owner.communicate()
    with pytest.raises(OutdatedShard):  # now it can be looked at: it is one of the first release
        open_shard(folder, collection=MEMORIES, dimension=4)


async def test_points_from_before_there_were_languages_stay_and_are_found(
    tmp_path: Path, make: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        fields = {name: kind for name, kind in PAYLOAD_FIELDS[MEMORIES].items() if name not in ADDED_LATER}
        earlier.setitem(PAYLOAD_FIELDS, MEMORIES, fields)
        index = opened(tmp_path, make)
        await index.upsert(MEMORIES, [make.point("a")], user_id="ann")
        await index.close()
    index = opened(tmp_path, make)
    await index.upsert(MEMORIES, [make.point("b", payload={LANGUAGE: "other"})], user_id="ann")
    everything = IndexQuery(MEMORIES, 10, dense=make.point("a").dense)
    found = await index.search([everything, replace(everything, where={LANGUAGE: "other"})], user_id="ann")
    await index.close()
    assert [{point.point_id for point in points} for points in found] == [
        {make.point_id("a"), make.point_id("b")},
        {make.point_id("b")},
    ]
