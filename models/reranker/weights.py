"""The reranker's weight file (`models.assets.delta_weights`) and its settings."""

from dataclasses import dataclass
from pathlib import Path

from ..assets.delta_weights import load_delta, read_metadata, save_delta, unreadable
from .network import RerankerNetwork, RerankerShape
from .scorer import COMPONENT

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class RerankerSettings:
    """What belongs to the weights but is no tensor.

    Attributes:
        shape: Of the network.
        temperature: What logits are divided by before they become probabilities.
        body: Catalogue id of the body.
    """

    shape: RerankerShape
    temperature: float
    body: str


def save_weights(path: Path, network: RerankerNetwork, settings: RerankerSettings, body_folder: Path) -> int:
    """Writes the weight file and its checksum; see `save_delta`.

    Returns:
        Size of the file, in bytes.
    """
    metadata = {
        "format": _FORMAT,
        "shape": settings.shape.as_dict(),
        "temperature": settings.temperature,
        "body": settings.body,
    }
    return save_delta(path, network, metadata, body_folder=body_folder)


def read_settings(path: Path) -> RerankerSettings:
    """The settings of a weight file.

    Raises:
        ModelUnavailable: The file is missing, is not the one that its checksum was taken of, or makes no sense.
    """
    metadata = read_metadata(path, component=COMPONENT, format_number=_FORMAT)
    try:
        return RerankerSettings(
            shape=RerankerShape(**metadata["shape"]),
            temperature=float(metadata["temperature"]),
            body=metadata["body"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(path, error, component=COMPONENT) from error


def load_weights(path: Path, network: RerankerNetwork) -> None:
    """Puts the weights into a network on the prepared body; call `read_settings` first, which checks the file.

    Raises:
        ModelUnavailable: The file does not fit the network.
    """
    load_delta(path, network, component=COMPONENT)
