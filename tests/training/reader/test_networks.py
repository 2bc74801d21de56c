import pytest
import torch

from memory.values.understanding.readings import Context, Intent, Qualifier, ReadRequest
from models.reader.features import FeatureReader
from models.reader.labels import LABELS
from models.reader.network import ReaderNetwork
from tests.models.reader.toys import PAD, toy_settings
from training.reader.networks import LoadedReader, name_labels, reader_shape

TEXTS = ["小明在北京", "", "字" * 300 + "上海", "Ann in Rome"]


@pytest.fixture
def loaded(network: ReaderNetwork, reader: FeatureReader) -> LoadedReader:
    """A network that takes about half of all spans for names."""
    torch.nn.init.zeros_(network.names.start_score.bias)
    return LoadedReader(network.eval(), reader, PAD, toy_settings())


def test_the_shape_that_ships_has_every_label() -> None:
    shape = reader_shape(words=96, sources=20)
    assert (shape.names.labels, shape.edits.words, shape.sources) == (len(LABELS), 96, 21)
    assert (shape.intents, shape.facts.qualifiers) == (len(Intent), len(Qualifier))


def test_every_message_has_its_windows(loaded: LoadedReader) -> None:
    requests = [ReadRequest(text=text, context=Context(turns=("你好",))) for text in TEXTS]
    assert [len(windows) for windows in loaded.find(requests)] == [1, 1, 2, 1]
    readings = loaded.read(requests)
    assert [bool(reading.intents) for reading in readings] == [True, False, True, True]


def test_a_source_that_the_network_knows_is_told(loaded: LoadedReader) -> None:
    requests = [ReadRequest(text=TEXTS[0])]
    ((plain,),), ((told,),), ((other,),) = (loaded.find(requests, source=name) for name in (None, "msra", "conll"))
    assert plain.intents == other.intents != told.intents


def test_names_of_a_source_have_the_labels_of_its_task(loaded: LoadedReader) -> None:
    labels = ("person", "scene")
    of_texts = name_labels(loaded, TEXTS, labels, source="msra")
    assert of_texts[1] == []
    for text, names in zip(TEXTS, of_texts, strict=True):
        end = 0
        for name in names:
            assert end <= name.start < name.end <= len(text)
            assert name.label in labels
            end = name.end
    assert max(name.end for name in of_texts[2]) > 254  # in the second window too
