"""The role that writes summaries of categories: without a model, or with one (002 §5.1, §9.2)."""

from abc import ABC, abstractmethod

from ...language.written import Language
from ...values.base import UserId, Value


class SourceSentence(Value):
    """A sentence that a summary is made of.

    `weight` is how much it matters, at least 0. `opening` is how it begins whatever values it names ("The user
    likes"), empty where it has no such part.
    """

    text: str
    opening: str = ""
    weight: float


class SummaryRequest(Value):
    """What to summarise.

    Args:
        sentences: In the order in which they are to be told; never empty.
        previous: The summary until now, so that the new one differs no more than it has to.
        max_sentences: So many sentences at most.
    """

    user_id: UserId
    category: str
    language: Language
    sentences: tuple[SourceSentence, ...]
    previous: str = ""
    max_sentences: int = 5


class SummaryWriter(ABC):
    """Writes a summary of sentences about one user."""

    @property
    @abstractmethod
    def writer_id(self) -> str:
        """Names the writer and its version: another one writes all summaries again."""

    @abstractmethod
    async def write(self, request: SummaryRequest) -> str:
        """The summary, in the language asked for; it says nothing that the sentences do not.

        Raises:
            ModelUnavailable: The model is away, or what it wrote cannot be used.
        """
