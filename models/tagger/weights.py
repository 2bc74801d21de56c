"""The tagger's weight file (`models.assets.delta_weights`) and its settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memory.values.errors import ModelUnavailable
from memory.values.mentions import EntitySubtype

from ..assets.delta_weights import load_delta, read_metadata, save_delta, unreadable
from .labels import LABELS
from .network import TaggerNetwork, TaggerShape

_FORMAT = 2
_COMPONENT = "tagger"


@dataclass(frozen=True, slots=True)
class TaggerSettings:
    """What belongs to the weights but is no tensor.

    Attributes:
        shape: Of the head.
        sources: Names of the data sets whose habits can be followed, from number 1.
        thresholds: Least probability of each subtype.
        body: Catalogue id of the body.
    """

    shape: TaggerShape
    sources: tuple[str, ...]
    thresholds: Mapping[EntitySubtype, float]
    body: str


def save_weights(path: Path, network: TaggerNetwork, settings: TaggerSettings, body_folder: Path) -> int:
    """Writes the weight file and its checksum; see `save_delta`.

    Returns:
        Size of the file, in bytes.
    """
    metadata = {
        "format": _FORMAT,
        "shape": settings.shape.as_dict(),
        "labels": LABELS,
        "sources": settings.sources,
        "thresholds": {subtype.value: value for subtype, value in settings.thresholds.items()},
        "body": settings.body,
    }
    return save_delta(path, network, metadata, body_folder=body_folder)


def read_settings(path: Path) -> TaggerSettings:
    """The settings of a weight file.

    Raises:
        ModelUnavailable: The file is missing, is not the one that its checksum was taken of, or has other labels.
    """
    metadata = read_metadata(path, component=_COMPONENT, format_number=_FORMAT)
    try:
        if tuple(metadata["labels"]) != LABELS:
            raise ModelUnavailable(f"{path} was trained for other labels.", component=_COMPONENT)
        return TaggerSettings(
            shape=TaggerShape(**metadata["shape"]),
            sources=tuple(metadata["sources"]),
            thresholds={EntitySubtype(name): float(value) for name, value in metadata["thresholds"].items()},
            body=metadata["body"],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise unreadable(path, error, component=_COMPONENT) from error


def load_weights(path: Path, network: TaggerNetwork) -> None:
    """Puts the weights into a network on the prepared body; call `read_settings` first, which checks the file.

    Raises:
        ModelUnavailable: The file does not fit the network.
    """
    load_delta(path, network, component=_COMPONENT)
