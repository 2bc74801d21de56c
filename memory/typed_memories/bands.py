"""Similarity bands: which cosines mean that two memories speak of the same thing (001 §3.3, DESIGN §6)."""

from typing import Protocol, Self

from pydantic import Field, model_validator

from ..values.base import Value
from ..values.text import has_han


class Band(Protocol):
    """The range of cosines in which two memories may give different values for one thing."""

    def may_conflict(self, cosine: float) -> bool:
        """Whether the cosine lies in the range."""
        ...


class Bands(Protocol):
    """Chooses the band for a pair of texts: `SimilarityBands` of a calibrated model, or a `FixedBand`."""

    def of(self, left: str, right: str) -> Band:
        """The band for this pair."""
        ...


class FixedBand(Value):
    """001 §3.3's band, `lower < cosine < upper`, for every pair of texts.

    It was set for all-mpnet-base-v2; a model without calibrated bands uses it.
    """

    lower: float = Field(default=0.85, ge=-1.0, le=1.0)
    upper: float = Field(default=1.0, ge=-1.0, le=1.0)

    def may_conflict(self, cosine: float) -> bool:
        """Whether the cosine lies between the bounds, both excluded."""
        return self.lower < cosine < self.upper

    def of(self, left: str, right: str) -> "FixedBand":
        """This band, whatever the texts."""
        return self


class BandQuality(Value):
    """Quality of a threshold, measured on labelled pairs that it was not chosen on.

    Attributes:
        precision: Share of the pairs above the threshold that are positive, 0 to 1.
        recall: Share of the positive pairs that lie above the threshold, 0 to 1.
        pairs: Number of pairs evaluated.
    """

    precision: float = Field(ge=0.0, le=1.0)
    recall: float = Field(ge=0.0, le=1.0)
    pairs: int = Field(ge=1)


class SimilarityBand(Value):
    """Thresholds for the cosine of two memories of one user, each encoded alone as a passage.

    A cosine cannot show that two memories contradict each other: "my dog is called Biscuit" is as close to "my dog is
    called Pepper" as to a paraphrase of itself. The bands therefore overlap: between `duplicate` and `upper` both are
    possible, and code that overwrites must compare the values first.

    Attributes:
        lower: Lower end of the conflict band (001: 0.85).
        upper: Upper end of the conflict band (001: 1.0).
        duplicate: From this cosine on, nine of ten pairs are paraphrases.
        candidates: Quality of `lower`: pairs about the same matter against all others.
        duplicates: Quality of `duplicate`: paraphrases against all others.
    """

    lower: float = Field(ge=-1.0, le=1.0)
    upper: float = Field(ge=-1.0, le=1.0)
    duplicate: float = Field(ge=-1.0, le=1.0)
    candidates: BandQuality
    duplicates: BandQuality

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if not self.lower <= self.duplicate <= self.upper:
            raise ValueError("A band needs lower ≤ duplicate ≤ upper.")
        return self

    def may_conflict(self, cosine: float) -> bool:
        """Whether two memories may give different values for the same thing."""
        return self.lower <= cosine < self.upper


class SimilarityBands(Value):
    """The bands of one encoder: cosines of two Chinese texts are higher than those of two English ones.

    Attributes:
        chinese: For two texts that both hold Han characters.
        other: For all other pairs, calibrated on English.
    """

    chinese: SimilarityBand
    other: SimilarityBand

    def of(self, left: str, right: str) -> SimilarityBand:
        """The band for a pair of texts."""
        return self.chinese if has_han(left) and has_han(right) else self.other
