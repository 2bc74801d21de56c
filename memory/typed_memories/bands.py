"""Which cosines mean that two memories speak of the same thing, for one encoder (001 §3.3, DESIGN §6)."""

from typing import Self

from pydantic import Field, model_validator

from ..values.base import Value
from ..values.text import has_han


class BandQuality(Value):
    """What a threshold was worth on labelled pairs that it was not chosen on.

    Attributes:
        precision: Of the pairs above it, the share that is meant; 0 to 1.
        recall: Of the pairs that are meant, the share above it; 0 to 1.
        pairs: How many pairs were looked at.
    """

    precision: float = Field(ge=0.0, le=1.0)
    recall: float = Field(ge=0.0, le=1.0)
    pairs: int = Field(ge=1)


class SimilarityBand(Value):
    """Cosines of two memories of one user, each encoded alone, as a passage.

    A cosine never says *that* two memories contradict each other: "my dog is called Biscuit" is as close to "my dog is
    called Pepper" as to the same in other words. So the bands overlap: between `duplicate` and `upper` both are
    possible, and whoever overwrites compares the values first. Values that look like codes merge only on equality.

    Attributes:
        lower: From here up, two memories speak of the same matter: the conflict band begins (001: 0.85).
        upper: Where the conflict band ends (001: 1.0).
        duplicate: From here up, nine of ten pairs say the same.
        candidates: What `lower` is worth: pairs of the same matter against all others.
        duplicates: What `duplicate` is worth: pairs that say the same against all others.
    """

    lower: float = Field(ge=-1.0, le=1.0)
    upper: float = Field(ge=-1.0, le=1.0)
    duplicate: float = Field(ge=-1.0, le=1.0)
    candidates: BandQuality
    duplicates: BandQuality

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.lower <= self.duplicate <= self.upper:
            raise ValueError("A band needs lower ≤ duplicate ≤ upper.")
        return self

    def may_conflict(self, cosine: float) -> bool:
        """Whether two memories may give different values for the same thing."""
        return self.lower <= cosine < self.upper

    def may_repeat(self, cosine: float) -> bool:
        """Whether two memories may say the same."""
        return cosine >= self.duplicate


class SimilarityBands(Value):
    """The bands of one encoder: cosines of two Chinese texts lie higher than those of two English ones.

    Attributes:
        chinese: For two texts that both hold Han characters.
        other: For all other pairs, calibrated on English.
    """

    chinese: SimilarityBand
    other: SimilarityBand

    def of(self, left: str, right: str) -> SimilarityBand:
        """The band for a pair of texts."""
        return self.chinese if has_han(left) and has_han(right) else self.other
