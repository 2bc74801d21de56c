"""From which cosine on a memory is about a question, for one encoder and the languages that it reads (DESIGN §6)."""

from pydantic import Field

from ..values.base import Value
from ..values.text import has_han


class CosineBounds(Value):
    """The bound for texts that hold Han characters and for others.

    None where the encoder does not read the language, or nobody has measured it: cosines say nothing then.
    """

    chinese: float | None = Field(default=None, ge=-1.0, le=1.0)
    other: float | None = Field(default=None, ge=-1.0, le=1.0)

    def are_met(self, cosine: float, *texts: str) -> bool:
        """Whether a cosine of these texts reaches the bound."""
        bound = self.chinese if any(map(has_han, texts)) else self.other
        return bound is not None and cosine >= bound
