"""Folders of the embedded vector index: one shard a collection and model, and which of them is live.

The engine has no collections and no aliases (STORES, qdrant-edge-py), so a folder is the collection and a small file
is the alias.
"""

import os
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import orjson
import qdrant_edge as edge

from memory.ports.stores.vectors import ADDED_LATER, Collection, FieldKind
from memory.values.errors import StoreUnavailable

from ..shared.index_checks import unavailable
from ..shared.index_points import DENSE, SPARSE, USER_ID, indexed_fields, scanned_points
from .errors import damaged, from_engine, is_owned

# Above any real size: the exact search of one user's points beats an HNSW graph here (STORES, qdrant-edge-py).
_NEVER_INDEX_KB = 2**40
_Schema = edge.KeywordIndexParams | edge.IntegerIndexParams | edge.FloatIndexParams | edge.DatetimeIndexParams


class Aliases:
    """Which folder is live for each collection, in one file that is replaced whole.

    Args:
        folder: Where the shards are.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "aliases.json"

    def read(self) -> dict[str, str]:
        """The name of the live folder by collection.

        Raises:
            StoreUnavailable: The file is there but cannot be read.
        """
        try:
            return {str(key): str(name) for key, name in orjson.loads(self._file.read_bytes()).items()}
        except FileNotFoundError:
            return {}
        except (OSError, orjson.JSONDecodeError, AttributeError) as error:
            raise damaged(self._file, error) from error

    def point(self, collection: Collection, name: str) -> None:
        """Makes `name` the live folder of a collection; a crash leaves the old or the new one."""
        self.replace({**self.read(), collection.value: name})

    def replace(self, names: dict[str, str]) -> None:
        """Makes exactly these folders the live ones; a crash leaves the old names or the new ones."""
        draft = self._file.with_suffix(".new")
        with draft.open("wb") as file:
            file.write(orjson.dumps(names, option=orjson.OPT_INDENT_2))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._file)


def drop_shards(folder: Path, names: Iterable[str]) -> None:
    """Deletes shards that no process has open; missing ones are skipped.

    Each is moved away before it is deleted, so that a crash leaves a whole one or none by its name.

    Raises:
        StoreUnavailable: A process has one open, or it cannot be deleted.
    """
    for name in names:
        doomed = folder / f"{name}{_DROPPED}"
        try:
            shutil.rmtree(doomed, ignore_errors=True)
            if not (folder / name).is_dir():
                continue
            if is_owned(folder / name):
                raise unavailable(f"{folder / name} belongs to another process, which must end first")
            (folder / name).rename(doomed)
            shutil.rmtree(doomed)
        except OSError as error:
            raise unavailable(f"{folder / name} cannot be deleted ({error})") from error


class OutdatedShard(StoreUnavailable):
    """The points of a shard were written before their payload had all the fields that it has now."""


def open_shard(folder: Path, *, collection: Collection, dimension: int) -> edge.EdgeShard:
    """Loads a shard, creating it where there is none.

    Raises:
        OutdatedShard: It is of an earlier release; no process has it open now.
        StoreUnavailable: Another process owns it, its vectors have another length, or it is damaged.
    """
    if is_owned(folder):
        raise unavailable(f"{folder} belongs to another process, which must end first")
    try:
        if not folder.exists():
            _create(folder, dimension, collection)
        stored = stored_dimension(folder)
        if stored != dimension:
            raise unavailable(f"{folder.name} holds vectors of length {stored}, not {dimension}")
        shard = edge.EdgeShard.load(str(folder))
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise damaged(folder, error) from error
    except BaseException as error:
        if not from_engine(error):
            raise
        raise damaged(folder, error) from error
    try:
        _index_fields(shard, collection)
    except OutdatedShard:
        shard.close()
        raise
    except BaseException as error:
        shard.close()
        if not from_engine(error):
            raise
        raise damaged(folder, error) from error
    return shard


def discard(folder: Path, collections: Iterable[Collection] = tuple(Collection)) -> list[Path]:
    """Sets the live shards of these collections aside, so that the next start begins with empty ones.

    Nothing is deleted: a shard is renamed. Where the alias file cannot be read, every shard of the collections counts
    as live, and the file is replaced.

    Args:
        folder: Where the shards are; no process may have them open.
        collections: Collections whose shards are set aside.

    Returns:
        Where they are now.

    Raises:
        StoreUnavailable: A process has one of them open, or the files cannot be moved.
    """
    discarded = {collection.value for collection in collections}
    aliases = Aliases(folder)
    try:
        live = aliases.read()
    except StoreUnavailable:
        live = {}
        names = [path.name for path in sorted(folder.iterdir()) if path.name.partition("__")[0] in discarded]
    else:
        names = [name for collection, name in sorted(live.items()) if collection in discarded]
    moved = set_aside(folder, names)
    try:
        if folder.exists():
            aliases.replace({collection: name for collection, name in live.items() if collection not in discarded})
    except OSError as error:
        raise unavailable(f"{folder} cannot be cleared ({error})") from error
    return moved


_ASIDE = ".discarded-"
_DROPPED = ".dropped"
_NEW = ".new"
_CONFIG = "edge_config.json"
_COPY = ".copy"


def set_aside(folder: Path, names: Iterable[str]) -> list[Path]:
    """Renames shards, so that new ones are created at the next use; returns where they are now.

    Raises:
        StoreUnavailable: A process has one of them open, or it cannot be moved.
    """
    shards = [folder / name for name in names if (folder / name).is_dir() and not _is_set_aside(name)]
    for shard in shards:
        if is_owned(shard):
            raise unavailable(f"{shard} belongs to another process, which must end first")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    try:
        return [shard.rename(shard.with_name(f"{shard.name}{_ASIDE}{stamp}")) for shard in shards]
    except OSError as error:
        raise unavailable(f"{folder} cannot be cleared ({error})") from error


def is_live_shard(path: Path) -> bool:
    """Whether it is a whole shard that was not set aside or dropped."""
    return (path / _CONFIG).is_file() and not _is_set_aside(path.name) and not path.name.endswith(_NEW)


def may_hold_points(folder: Path) -> bool:
    """Whether a shard may hold points, or ever held any: False where its pages of payloads are empty."""
    pages = [*folder.glob("segments/*/payload_storage/page_*")]
    return not pages or any(page.read_bytes().strip(b"\0") for page in pages)


def create_copy(folder: Path, dimension: int, collection: Collection) -> edge.EdgeShard:
    """An empty shard beside another one, which is to take its place; opened."""
    copy = folder.with_name(f"{folder.name}{_COPY}")
    shutil.rmtree(copy, ignore_errors=True)
    return open_shard(copy, collection=collection, dimension=dimension)


def replace_by_copy(folder: Path) -> None:
    """Puts the copy of a shard in its place and deletes the shard; both are closed.

    A crash between the two steps leaves no shard by the name: an empty one is made and filled from the record.

    Raises:
        StoreUnavailable: The files cannot be moved or deleted.
    """
    doomed = folder.with_name(f"{folder.name}{_DROPPED}")
    try:
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        folder.with_name(f"{folder.name}{_COPY}").rename(folder)
        shutil.rmtree(doomed)
    except OSError as error:
        raise unavailable(f"{folder} cannot be replaced ({error})") from error


def models_in(folder: Path) -> dict[str, int]:
    """The models that have shards in a folder, each with the length of its vectors.

    Raises:
        StoreUnavailable: A shard is damaged.
    """
    names = {collection.value for collection in Collection}
    found: dict[str, int] = {}
    for shard in sorted(folder.iterdir()) if folder.is_dir() else ():
        collection, _, model = shard.name.partition("__")
        if collection in names and not _is_left_over(shard.name):
            try:
                found[unquote(model)] = stored_dimension(shard)
            except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
                raise damaged(shard, error) from error
    return found


def delete_left_overs(folder: Path) -> None:
    """Deletes the shards that were set aside or dropped, and unfinished ones.

    Raises:
        StoreUnavailable: They cannot be deleted.
    """
    try:
        for shard in [*folder.iterdir()] if folder.is_dir() else ():
            if shard.is_dir() and _is_left_over(shard.name):
                shutil.rmtree(shard)
    except OSError as error:
        raise unavailable(f"{folder} cannot be cleared ({error})") from error


def _is_left_over(name: str) -> bool:
    return _is_set_aside(name) or name.endswith((_COPY, _NEW))


def _is_set_aside(name: str) -> bool:
    return _ASIDE in name or name.endswith(_DROPPED)


def stored_dimension(folder: Path) -> int:
    """The length of the dense vectors that a shard holds."""
    return int(orjson.loads((folder / _CONFIG).read_bytes())["vectors"][DENSE]["size"])


def _create(folder: Path, dimension: int, collection: Collection) -> None:
    """Builds the shard beside its place and moves it there, so that a crash leaves no incomplete one."""
    draft = folder.with_name(f"{folder.name}{_NEW}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    shard = edge.EdgeShard.create(
        str(draft),
        edge.EdgeConfig(
            vectors={DENSE: edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)},
            sparse_vectors={
                SPARSE: edge.EdgeSparseVectorParams(
                    modifier=edge.Modifier.Idf, full_scan_threshold=scanned_points(collection)
                )
            },
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=_NEVER_INDEX_KB),
        ),
    )
    shard.close()
    draft.rename(folder)


def _index_fields(shard: edge.EdgeShard, collection: Collection) -> None:
    present = shard.info().payload_schema
    missing = {name: kind for name, kind in indexed_fields(collection).items() if name not in present}
    if missing.keys() - ADDED_LATER and shard.count(edge.CountRequest(exact=False)):
        raise OutdatedShard(unavailable(f"the points of {collection.value} lack {sorted(missing)}").message)
    for name, kind in missing.items():
        shard.update(edge.UpdateOperation.create_field_index(name, _schema(name, kind)))


def _schema(name: str, kind: FieldKind) -> _Schema:
    match kind:
        case FieldKind.KEYWORD:
            return edge.KeywordIndexParams(is_tenant=name == USER_ID)
        case FieldKind.INTEGER:
            return edge.IntegerIndexParams()
        case FieldKind.FLOAT:
            return edge.FloatIndexParams()
        case FieldKind.TIME:
            return edge.DatetimeIndexParams()
