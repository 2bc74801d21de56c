"""The extractor with a trained tagger: names by tagger and rules, all else by the rules (DESIGN §5)."""

import asyncio
from collections.abc import Sequence

import structlog
from typing_extensions import override

from ..ports.language import Extractor, Priority, Tagger
from ..values.errors import Overloaded, Unavailable
from ..values.extractions import Extraction
from ..values.mentions import TaggedSpan
from .extractor import RuleExtractor

_log = structlog.get_logger(__name__)
TAGGER = "tagger"
"""Name of the tagger in `Extraction.degraded`."""


class TrainedExtractor(Extractor):
    """Combines a tagger with the rules.

    Known names, seeds, quoted titles, codes, L1 words and remember-intents come from the rules and win overlaps; other
    names come from the tagger, corrected and complemented by the rules (`tagged.names`). While the tagger is
    unavailable the rules find the names, and the extraction is marked degraded.

    Args:
        tagger: The trained tagger.
        rules: The extractor by rules.
        version: Version of the rules and the tagger's weights (`extraction_version`).
    """

    def __init__(self, *, tagger: Tagger, rules: RuleExtractor, version: str = "") -> None:
        self._tagger = tagger
        self._rules = rules
        self._version = version
        self.failures = 0

    @property
    @override
    def version(self) -> str:
        return self._version

    @override
    async def extract(self, texts: Sequence[str], *, known: Sequence[Sequence[str]] | None = None) -> list[Extraction]:
        """Extracts from each text; a single text has interactive priority, several have batch priority.

        Raises:
            ValueError: `known` is not as long as `texts`.
        """
        names: Sequence[Sequence[str]] = known if known is not None else [()] * len(texts)
        if len(names) != len(texts):
            raise ValueError(f"`known` holds {len(names)} lists for {len(texts)} texts; give one list a text.")
        priority = Priority.INTERACTIVE if len(texts) == 1 else Priority.BATCH
        try:
            tagged = await self._tagger.tag(texts, priority=priority)
        except (Unavailable, Overloaded) as error:
            self.failures += 1
            _log.warning("extraction_degraded", component=TAGGER, error=error.message)
            found = await self._rules.extract(texts, known=names)
            return [extraction.model_copy(update={"degraded": (TAGGER,)}) for extraction in found]
        return await asyncio.to_thread(self._joined, texts, names, tagged)

    def _joined(
        self, texts: Sequence[str], known: Sequence[Sequence[str]], tagged: Sequence[Sequence[TaggedSpan]]
    ) -> list[Extraction]:
        return [
            self._rules.extract_one(text, names, tagged=spans).model_copy(update={"version": self._version})
            for text, names, spans in zip(texts, known, tagged, strict=True)
        ]
