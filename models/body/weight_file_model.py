"""What the models share whose weights are a file of ours (`delta_weights`): how it is loaded, and who takes turns."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from ..assets.lazy import Once
from ..assets.model_facts import ModelFacts
from ..assets.prepared_folder import sha256_of

if TYPE_CHECKING:
    from torch import nn

    NetworkT = TypeVar("NetworkT", bound=nn.Module)


class HasNetwork(Protocol):
    """What a subclass makes of its weight file: the network, and what it needs to feed and read it."""

    @property
    def network(self) -> "nn.Module":
        """Ready to compute."""
        ...


PartsT = TypeVar("PartsT", bound=HasNetwork)


class WeightFileModel(ABC, Generic[PartsT]):
    """Half of a `batched_model.TrainedModel`: the half that is the same whatever the network computes.

    The weights are read at the first call. A subclass holds `_lock` while it computes.

    Args:
        weights: The weight file.
        cache: Where prepared models are kept.
        device: `cpu` or `cuda`.
        threads: CPU threads in the whole process; None leaves torch as it is.
    """

    component: ClassVar[str]
    """What the model is called in errors."""

    def __init__(self, weights: Path, cache: Path, *, device: str = "cpu", threads: int | None = None) -> None:
        self._weights = weights
        self._cache = cache
        self._device = device
        self._threads = threads
        self._lock = threading.Lock()
        self._read = Once(self._load)

    def load(self) -> ModelFacts:
        """Reads the weights, where that was not done yet, and says what they are.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        from .weights import network_dtype

        network = self.parts().network
        return ModelFacts(checksum=sha256_of(self._weights), dtype=network_dtype(network))

    def parts(self) -> PartsT:
        """The network and what belongs to it; one thread reads it for all.

        Raises:
            ModelUnavailable: See `load`.
        """
        return self._read()

    @abstractmethod
    def _load(self) -> PartsT:
        """Reads the weight file; calls `_load_network` for its network."""

    def _load_network(self, build: "Callable[[nn.Module], NetworkT]", *, body: str) -> "tuple[NetworkT, Path]":
        """The network of the weight file and the prepared folder of its body; see `serving.weights.load_network`."""
        import torch

        from .weights import load_network

        if self._threads is not None:
            torch.set_num_threads(self._threads)
        return load_network(
            self._weights, build, body=body, cache=self._cache, device=self._device, component=self.component
        )
