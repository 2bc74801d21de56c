from collections.abc import Iterator

import pytest
import torch

from models.reader.features import FeatureReader
from models.reader.network import ReaderNetwork
from tests.models.reader.toys import toy_network, toy_reader


@pytest.fixture(scope="session")
def reader() -> FeatureReader:
    return toy_reader()


@pytest.fixture
def network() -> Iterator[ReaderNetwork]:
    """A network small enough to learn a few rows in a second."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield toy_network()
    torch.set_num_threads(threads)
