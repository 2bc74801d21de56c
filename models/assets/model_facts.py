"""What a trained model tells of itself once its weights are read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """For `/health/detailed`.

    Attributes:
        checksum: SHA-256 of its weight file; the name of a model that is no file of ours.
        dtype: In what its body computes: `bf16` or `fp32`.
    """

    checksum: str
    dtype: str
