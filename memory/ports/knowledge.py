"""What reads documents for the knowledge base (004 §4)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ..values.documents.knowledge import ParsedDocument


class DocumentParser(ABC):
    """Reads files of one or several media types."""

    @abstractmethod
    def parse(self, content: bytes, *, media_type: str, name: str) -> ParsedDocument:
        """Reads a file into blocks with pages and headings. Takes up to seconds: call it in a worker thread.

        Args:
            content: The whole file.
            media_type: As declared, parameters included (`text/html; charset=big5`); where it is empty or
                `application/octet-stream`, the ending of `name` decides.
            name: The file's name, for its ending and for messages.

        Raises:
            UnreadableDocumentError: The file is no document of a known type, is damaged, locked or too large.
        """


class SentenceSimilarity(ABC):
    """Tells where the subject of a text changes."""

    @abstractmethod
    async def of_neighbours(self, sentences: Sequence[str]) -> list[float]:
        """The cosine of each sentence and the next: one number fewer than sentences.

        Raises:
            Unavailable: The model is down.
        """
