"""A trained network that is loaded at the first call."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from ..assets.cache_folders import sha256_of
from ..batching.batched_model import ModelFacts

if TYPE_CHECKING:
    from torch import nn

    NetworkT = TypeVar("NetworkT", bound=nn.Module)

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that is loaded at the first call; after an error the next call loads it again. Thread-safe.

    Args:
        load: Makes the value; called by one thread at a time.
    """

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._value: T | None = None

    @property
    def made(self) -> T | None:
        """The value, where it is loaded."""
        return self._value

    def __call__(self) -> T:
        """The value; loads it at the first call, and later calls do not wait."""
        if (value := self._value) is not None:
            return value
        with self._lock:
            if self._value is None:
                self._value = self._load()
            return self._value


class HasNetwork(Protocol):
    """The contents of a weight file: the network with its tokenizer and settings."""

    @property
    def network(self) -> "nn.Module":
        """The network, in evaluation mode."""
        ...


PartsT = TypeVar("PartsT", bound=HasNetwork)


class TrainedNetwork(ABC, Generic[PartsT]):
    """The loading half of a `batched_model.TrainedModel`.

    A subclass that keeps something from one call to the next holds `_lock` while it computes.

    Args:
        weights: The weight file.
        cache: The folder of prepared models.
        device: `cpu` or `cuda`.
        threads: CPU threads of the whole process; None for torch's default.
    """

    component: ClassVar[str]
    """The model's name in errors, logs and metrics."""

    def __init__(self, weights: Path, cache: Path, *, device: str = "cpu", threads: int | None = None) -> None:
        self._weights = weights
        self._cache = cache
        self._device = device
        self._threads = threads
        self._lock = threading.Lock()
        self._parts = Lazy(self._load)

    def load(self) -> ModelFacts:
        """Reads the weights unless that was done before.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        from .load_network import network_dtype

        network = self.parts().network
        return ModelFacts(checksum=sha256_of(self._weights), dtype=network_dtype(network))

    def parts(self) -> PartsT:
        """The network with its tokenizer and settings; the first call reads the weights.

        Raises:
            ModelUnavailable: The weight file or the body is missing or broken.
        """
        return self._parts()

    @abstractmethod
    def _load(self) -> PartsT:
        """Reads the weight file; calls `_load_network` for its network."""

    def _load_network(self, build: "Callable[[nn.Module], NetworkT]", *, body: str) -> "tuple[NetworkT, Path]":
        """The network of the weight file and the prepared folder of its body; see `load_network.load_network`."""
        import torch

        from .load_network import load_network

        if self._threads is not None:
            torch.set_num_threads(self._threads)
        return load_network(
            self._weights, build, body=body, cache=self._cache, device=self._device, component=self.component
        )
