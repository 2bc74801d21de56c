"""The rewriter's weight file (`models.assets.delta_weights`) and its settings: the shape of the heads, the function
words, the
rule for leaving a query alone and the body that it belongs to.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from ..assets.delta_weights import load_delta, read_metadata, save_delta, unreadable
from .decisions import KeepRule
from .network import NetworkShape, RewriterNetwork

_FORMAT = 2
_COMPONENT = "rewriter"


@dataclass(frozen=True, slots=True)
class RewriterSettings:
    """What belongs to the weights but is no tensor.

    Attributes:
        shape: Of the heads.
        words: Function words, in order.
        rule: When a query is left as it is.
        body: Catalogue id of the body.
    """

    shape: NetworkShape
    words: tuple[str, ...]
    rule: KeepRule
    body: str


def save_weights(path: Path, network: RewriterNetwork, settings: RewriterSettings, body_folder: Path) -> int:
    """Writes the weight file and its checksum; see `save_delta`.

    Returns:
        Size of the file, in bytes.
    """
    return save_delta(path, network, {"format": _FORMAT, **asdict(settings)}, body_folder=body_folder)


def read_settings(path: Path) -> RewriterSettings:
    """The settings of a weight file.

    Raises:
        ModelUnavailable: The file is missing, or is not the one that its checksum was taken of.
    """
    metadata = read_metadata(path, component=_COMPONENT, format_number=_FORMAT)
    try:
        return RewriterSettings(
            shape=NetworkShape(**metadata["shape"]),
            words=tuple(metadata["words"]),
            rule=KeepRule(**metadata["rule"]),
            body=metadata["body"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(path, error, component=_COMPONENT) from error


def load_weights(path: Path, network: RewriterNetwork) -> None:
    """Puts the weights into a network on the prepared body; call `read_settings` first, which checks the file.

    Raises:
        ModelUnavailable: The file does not fit the network.
    """
    load_delta(path, network, component=_COMPONENT)
