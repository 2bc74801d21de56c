"""An answer reader small enough for milliseconds, on the vocabulary and the body of the toy reader."""

from datetime import UTC, datetime, timedelta

import torch

from memory.ports.models.answer_reading import AnswerReadRequest, DatedLine
from memory.values.understanding.dialogue import Role
from models.answers.features import AnswerFeatureReader
from models.answers.network import AnswerNetwork, AnswerShape
from models.body.edit_units import EditUnitTokenizer
from tests.models.reader.toys import HIDDEN, ToyVocabulary, toy_body

SHAPE = AnswerShape(layers=2, hidden=HIDDEN)
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def toy_feature_reader(max_tokens: int = 512) -> AnswerFeatureReader:
    return AnswerFeatureReader(EditUnitTokenizer(ToyVocabulary()), max_tokens=max_tokens)


def toy_network(seed: int = 0) -> AnswerNetwork:
    torch.manual_seed(seed)
    return AnswerNetwork(toy_body(512), SHAPE)


def request(question: str, *lines: tuple[int, str], role: Role = Role.USER) -> AnswerReadRequest:
    """A question over lines with the days since each was said."""
    dated = tuple(DatedLine(text=text, said_at=NOW - timedelta(days=days), role=role) for days, text in lines)
    return AnswerReadRequest(question=question, lines=dated, now=NOW)
