"""Writes the embedded vector index anew with another key, or with none; vectors are copied, not computed again."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from memory.ports.stores.vectors import Collection

from ..shared.encryption import Cipher, Undecipherable, mark_folder
from ..shared.index_checks import unavailable
from ..shared.index_points import DENSE, POINTS_AT_ONCE, SPARSE
from .errors import REBUILD, translate_errors
from .requests import EngineId, with_keywords
from .shards import OutdatedShard, is_live_shard, open_shard, stored_dimension

_DRAFT, _WHOLE, _BEFORE = ".rekeying", ".rekeyed", ".before"
"""Suffixes of the folders beside the index: being written, written and about to replace it, replaced."""


def rekey_shards(folder: Path, old: Cipher, new: Cipher) -> None:
    """Replaces the folder by one with another key. What was set aside or dropped is not copied: it is deleted.

    Killed at any moment it leaves the old index or the new one, after `recover_shards`.

    Raises:
        StoreUnavailable: A process has a shard open, one is damaged, or the disk is full; nothing has changed.
    """
    recover_shards(folder)
    draft = _beside(folder, _DRAFT)
    try:
        draft.mkdir(mode=0o700)
        for shard in sorted(folder.iterdir()):
            if is_live_shard(shard):
                translate_errors(partial(_copy, shard, draft / shard.name, old, new))
            elif shard.is_file():
                shutil.copy2(shard, draft)
        mark_folder(draft, new)
        draft.rename(_beside(folder, _WHOLE))
    except Undecipherable as error:
        raise unavailable(f"{error}: {REBUILD}") from error
    except OSError as error:
        raise unavailable(f"{folder} cannot be written anew ({error})") from error
    recover_shards(folder)


def is_half_rekeyed(folder: Path) -> bool:
    """Whether a change was interrupted, so that `recover_shards` has something to do."""
    return any(_beside(folder, suffix).exists() for suffix in (_DRAFT, _WHOLE, _BEFORE))


def recover_shards(folder: Path) -> None:
    """Finishes a change that was interrupted after everything was written, and undoes one that was not."""
    before, whole = _beside(folder, _BEFORE), _beside(folder, _WHOLE)
    try:
        shutil.rmtree(_beside(folder, _DRAFT), ignore_errors=True)
        if whole.exists():
            if folder.exists():
                shutil.rmtree(before, ignore_errors=True)
                folder.rename(before)
            whole.rename(folder)
        shutil.rmtree(before, ignore_errors=True)
    except OSError as error:
        raise unavailable(f"{folder} cannot be replaced ({error})") from error


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(folder.name + suffix)


def _copy(source: Path, target: Path, old: Cipher, new: Cipher) -> None:
    collection, dimension = Collection(source.name.partition("__")[0]), stored_dimension(source)
    try:
        reading = open_shard(source, collection=collection, dimension=dimension)
    except OutdatedShard:
        return  # the service, too, would put it aside and make the points again

    def reseal(text: str, field: str) -> str:
        return new.seal_comparable(old.open(text, field), field)

    def copied(record: edge.Record) -> edge.Point:
        vectors: Any = record.vector
        terms = vectors[SPARSE]
        sparse = edge.SparseVector(list(terms.indices), list(terms.values))
        payload = with_keywords(record.payload or {}, collection, reseal)
        return edge.Point(record.id, {DENSE: list(vectors[DENSE]), SPARSE: sparse}, payload)

    writing = open_shard(target, collection=collection, dimension=dimension)
    try:
        after: EngineId | None = None
        while True:
            page = edge.ScrollRequest(offset=after, limit=POINTS_AT_ONCE, with_payload=True, with_vector=True)
            records, after = reading.scroll(page)
            if records:
                writing.update(edge.UpdateOperation.upsert_points([copied(record) for record in records]))
            if after is None:
                break
        writing.flush()
    finally:
        reading.close()
        writing.close()
