"""The answer reader: its weight file and what a deployment calls."""

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
from typing_extensions import override

from memory.ports.models.answer_reading import AnswerReading, AnswerReadRequest, LineReading
from memory.ports.models.language import Priority
from memory.values.errors import ModelUnavailable
from models.answers.network import AnswerNetwork, AnswerShape
from models.answers.reader import AnswerReaders, BatchedAnswerReader, TrainedAnswerReader
from models.answers.settings import AnswerSettings
from models.assets.catalog import DEFAULT_MODEL
from models.assets.weight_files import read_settings, shipped_weight_file
from models.body.calibration import Calibration
from tests.models.answers.toys import request
from training.shared.body import load_body
from training.shared.weight_files import save_weights

_MOST_BYTES = 18_000_000
REQUESTS = [
    request("我現在住哪裡？", (90, "我住板橋"), (9, "上個月搬到三峽了"), (5, "今天下雨")),
    request("nothing to read"),
    request("Where is the key?", (1, "The spare key is in the blue drawer.")),
]


@pytest.fixture(scope="module")
def weights(e5_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weight file of an untrained network with three layers, which says half as often that nothing answers."""
    torch.manual_seed(0)
    network = AnswerNetwork(load_body(e5_folder), AnswerShape(layers=3))
    path = tmp_path_factory.mktemp("weights") / "answers.safetensors"
    settings = AnswerSettings(shape=network.shape, body=DEFAULT_MODEL, unanswered=Calibration(offset=-0.7))
    save_weights(path, network, settings, e5_folder)
    return path


@pytest.fixture(scope="module")
def trained(weights: Path, e5_folder: Path) -> TrainedAnswerReader:
    return TrainedAnswerReader(weights, e5_folder.parent, threads=1)


@pytest.fixture
def batched(trained: TrainedAnswerReader) -> Iterator[BatchedAnswerReader]:
    yield (reader := BatchedAnswerReader(trained))
    asyncio.run(reader.model.close())


def close(one: AnswerReading, other: AnswerReading) -> bool:
    pairs = zip(one.lines, other.lines, strict=True)
    same_lines = all(line.answers == pytest.approx(twin.answers, abs=0.01) for line, twin in pairs)
    return same_lines and one.unanswered == pytest.approx(other.unanswered, abs=0.01)


def test_settings_come_back(weights: Path) -> None:
    settings = read_settings(weights, AnswerSettings)
    assert (settings.shape.layers, settings.unanswered.offset, settings.body) == (3, -0.7, DEFAULT_MODEL)


def test_questions_of_several_callers_are_read_in_order(
    batched: BatchedAnswerReader, trained: TrainedAnswerReader
) -> None:
    async def read_all() -> list[list[AnswerReading]]:
        calls = [batched.read(REQUESTS, priority=priority) for priority in Priority]
        return list(await asyncio.gather(*calls, batched.read([])))

    *both, nothing = asyncio.run(read_all())
    alone = [trained.read([asked])[0] for asked in REQUESTS if asked.lines]
    assert nothing == []
    for readings in both:
        assert [len(reading.lines) for reading in readings] == [len(asked.lines) for asked in REQUESTS]
        assert close(readings[0], alone[0])
        assert close(readings[2], alone[1])


def test_documents_are_read_by_a_reader_of_their_own_and_all_come_back_in_order() -> None:
    lines, documents = Noting(), Noting()
    asked = [REQUESTS[0], REQUESTS[2].model_copy(update={"of_documents": True}), REQUESTS[2]]
    readings = asyncio.run(AnswerReaders(lines=lines, documents=documents).read(asked))
    assert [len(reading.lines) for reading in readings] == [3, 1, 1]
    assert (lines.read_lines, documents.read_lines) == ([3, 1], [1])


class Noting(BatchedAnswerReader):
    """Notes how many lines each request has, and reads nothing in them."""

    def __init__(self) -> None:
        self.read_lines: list[int] = []

    @override
    async def read(
        self, requests: Sequence[AnswerReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[AnswerReading]:
        self.read_lines += [len(request.lines) for request in requests]
        unread = LineReading(answers=0.0, outdated=0.0, start=0, end=0)
        return [AnswerReading(lines=(unread,) * len(request.lines), unanswered=1.0) for request in requests]


def test_without_lines_nothing_answers(batched: BatchedAnswerReader) -> None:
    assert asyncio.run(batched.read([REQUESTS[1]])) == [AnswerReading(lines=(), unanswered=1.0)]


def test_a_missing_file_is_named_and_the_service_goes_on(tmp_path: Path) -> None:
    reader = BatchedAnswerReader(TrainedAnswerReader(tmp_path / "none.safetensors", tmp_path))
    assert "none.safetensors cannot be read" in reader.model.load_error
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        asyncio.run(reader.read(REQUESTS))


def test_a_corrupt_file_is_named(weights: Path, e5_folder: Path, tmp_path: Path) -> None:
    corrupt = tmp_path / "answers.safetensors"
    corrupt.write_bytes(weights.read_bytes()[:-1] + b"!")
    shutil.copy(weights.with_suffix(".json"), corrupt.with_suffix(".json"))
    with pytest.raises(ModelUnavailable, match=r"answers\.safetensors is corrupt"):
        TrainedAnswerReader(corrupt, e5_folder.parent).load()


@pytest.mark.skipif(not shipped_weight_file("answers").exists(), reason="no answer reader is shipped")
def test_the_answer_reader_that_ships_finds_what_is_said_plainly(e5_folder: Path) -> None:
    weights = shipped_weight_file("answers")
    assert weights.stat().st_size < _MOST_BYTES
    reader = TrainedAnswerReader(weights, e5_folder.parent, threads=1)
    lines = ((30, "I lent my drill to Ivan"), (20, "Our cat is called Miso"), (3, "we had soup for dinner"))
    lent, named, blood = reader.read(
        [
            request("Who has my drill?", *lines),
            request("What is our cat called?", *lines),
            request("What is my blood type?", *lines),
        ]
    )
    assert [line.answers for line in lent.lines].index(max(line.answers for line in lent.lines)) == 0
    assert [line.answers for line in named.lines].index(max(line.answers for line in named.lines)) == 1
    assert lines[1][1][named.lines[1].start : named.lines[1].end] == "Miso"
    assert blood.unanswered > max(lent.unanswered, named.unanswered)
