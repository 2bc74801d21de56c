"""A bulk embedder in this process, without Ray; it reads the record in the order of the real one."""

from collections.abc import AsyncGenerator, Callable, Sequence

from memory.indexing.record_pages import walk_selected
from memory.ports.models.language import Encoder, Priority, TextKind
from memory.ports.stores.generations import BulkEmbedder, EmbeddedItem, Selection, VectorModel
from memory.ports.stores.record import SystemOfRecord


class WalkingEmbedder(BulkEmbedder):
    """Embeds page by page, in batches as large as a test wants them."""

    def __init__(self, record: SystemOfRecord, encoder_of: Callable[[str], Encoder], *, batch: int = 256) -> None:
        self._record = record
        self._encoder_of = encoder_of
        self._batch = batch

    async def embed(
        self, model: VectorModel, selection: Selection, *, after: str | None
    ) -> AsyncGenerator[Sequence[EmbeddedItem], None]:
        """See `BulkEmbedder.embed`."""
        async for page in walk_selected(self._record, selection, after=after):
            for begin in range(0, len(page.items), self._batch):
                items = page.items[begin : begin + self._batch]
                texts = [item.dense_text for item in items]
                vectors = await self._encoder_of(model.model_id).encode(
                    texts, kind=TextKind.PASSAGE, priority=Priority.BATCH
                )
                yield [
                    EmbeddedItem(page.user_id, page.collection, item.item_id, item.fingerprint(model.model_id), vector)
                    for item, vector in zip(items, vectors, strict=True)
                ]
