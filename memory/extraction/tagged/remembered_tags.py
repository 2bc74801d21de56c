"""A tagger that remembers what it found lately: a message is tagged when it is said, and again when it is learned."""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

from typing_extensions import override

from ...ports.language import Priority, Tagger
from ...values.tagging import TaggedSpan


class RememberingTagger(Tagger):
    """Wraps a tagger; keeps digests and offsets, never a text.

    Args:
        tagger: Asked for what is not remembered.
        texts: How many texts are remembered, the latest asked for.
    """

    def __init__(self, tagger: Tagger, *, texts: int = 4096) -> None:
        self._tagger = tagger
        self._most = texts
        self._found: OrderedDict[bytes, tuple[TaggedSpan, ...]] = OrderedDict()

    @override
    async def tag(
        self, texts: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[tuple[TaggedSpan, ...]]:
        """See `Tagger.tag`."""
        digests = [_digest(text) for text in texts]
        found = {digest: self._found[digest] for digest in digests if digest in self._found}
        asked = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in found}
        if asked:
            found |= zip(asked, await self._tagger.tag(list(asked.values()), priority=priority), strict=True)
        for digest in digests:
            self._found[digest] = found[digest]
            self._found.move_to_end(digest)
        while len(self._found) > self._most:
            self._found.popitem(last=False)
        return [found[digest] for digest in digests]


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
