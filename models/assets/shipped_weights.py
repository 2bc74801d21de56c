"""Where the weight files of the trained models are that ship with this package."""

from pathlib import Path

SHIPPED = Path(__file__).parents[1] / "weights"
"""The folder, with a model card beside each file."""


def weight_file(name: str, folder: Path | None = None) -> Path:
    """The weight file of a model, whether it is there or not.

    Args:
        name: `tagger`, `rewriter` or `reranker`.
        folder: Where to look; the shipped ones where it is not given.
    """
    return (folder or SHIPPED) / f"{name}.safetensors"
