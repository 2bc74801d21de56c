from collections.abc import Iterator

import pytest
import torch

from models.reader.features import FeatureReader
from models.reader.network import ReaderNetwork
from tests.models.reader.toys import toy_network, toy_reader


@pytest.fixture(scope="session")
def reader() -> FeatureReader:
    return toy_reader()


@pytest.fixture(scope="module")
def network() -> Iterator[ReaderNetwork]:
    """With random weights, in evaluation mode; tests do not change it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield toy_network().eval()
    torch.set_num_threads(threads)
