"""Folders of the embedded vector index: one shard a collection and model, and which of them is live.

The engine has no collections and no aliases (STORES, qdrant-edge-py), so a folder is the collection and a small file
is the alias.
"""

import os
import shutil
from pathlib import Path
from urllib.parse import quote

import orjson
import qdrant_edge as edge

from memory.errors import StoreUnavailable
from memory.ports.vectors import Collection

DENSE = "dense"
SPARSE = "sparse"

# Above any real size: the exact search of one user's points beats an HNSW graph here (STORES, qdrant-edge-py).
_NEVER_INDEX_KB = 2**40


def unavailable(reason: object) -> StoreUnavailable:
    """The error that says why the vector index cannot answer."""
    return StoreUnavailable(f"The vector index cannot answer: {reason}.", component="vectors")


def shard_name(collection: Collection, model_id: str) -> str:
    """The folder of a collection's vectors by one model; two models never share one."""
    return f"{collection.value}__{quote(model_id, safe='')}"


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
            raise unavailable(f"{self._file} cannot be read ({error})") from error

    def point(self, collection: Collection, name: str) -> None:
        """Makes `name` the live folder of a collection; a crash leaves the old or the new one, never neither."""
        content = orjson.dumps({**self.read(), collection.value: name}, option=orjson.OPT_INDENT_2)
        draft = self._file.with_suffix(".new")
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._file)


def open_shard(folder: Path, *, dimension: int) -> edge.EdgeShard:
    """Loads a shard, creating it where there is none.

    Raises:
        StoreUnavailable: Another process owns it, its vectors have another length, or it is damaged.
    """
    try:
        if not folder.exists():
            _create(folder, dimension)
        stored = _stored_dimension(folder)
        if stored != dimension:
            raise unavailable(f"{folder.name} holds vectors of length {stored}, not {dimension}")
        return edge.EdgeShard.load(str(folder))
    except (OSError, orjson.JSONDecodeError, KeyError) as error:
        raise unavailable(f"{folder} is damaged or cannot be used ({error})") from error
    except Exception as error:
        if type(error) is not Exception:  # the engine's own are bare
            raise
        raise unavailable(f"{folder} cannot be opened; is another process using it? ({error})") from error


def _stored_dimension(folder: Path) -> int:
    """The length of the dense vectors that a shard holds."""
    return int(orjson.loads((folder / "edge_config.json").read_bytes())["vectors"][DENSE]["size"])


def _create(folder: Path, dimension: int) -> None:
    """Builds the shard beside its place and moves it there, so that a crash leaves no half of one."""
    draft = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    shard = edge.EdgeShard.create(
        str(draft),
        edge.EdgeConfig(
            vectors={DENSE: edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)},
            sparse_vectors={SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=_NEVER_INDEX_KB),
        ),
    )
    schemas: dict[str, edge.KeywordIndexParams | edge.FloatIndexParams] = {
        "user_id": edge.KeywordIndexParams(is_tenant=True),
        "session_id": edge.KeywordIndexParams(),
        "role": edge.KeywordIndexParams(),
        "metadata": edge.KeywordIndexParams(),
        "created_at_s": edge.FloatIndexParams(),
    }
    for field, schema in schemas.items():
        shard.update(edge.UpdateOperation.create_field_index(field, schema))
    shard.close()
    draft.rename(folder)
