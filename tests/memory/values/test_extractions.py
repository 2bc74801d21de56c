"""What of a message's reading makes it one that only asks."""

import pytest

from memory.values.understanding.extractions import Extraction
from memory.values.understanding.readings import FactSpan, Intent, MessageKind, StatedFact

FACT = StatedFact(predicate="likes", object=FactSpan(text="tea", start=0, end=3))


@pytest.mark.parametrize(
    ("understood", "only"),
    [
        (Extraction(version="1"), True),
        (Extraction(version="1", facts=(FACT,)), False),
        (Extraction(), False),
        (Extraction(version="1", degraded=("reader",)), False),
        (Extraction(version="1", intents=(Intent.REQUEST,)), False),
        (Extraction(version="1", intents=(Intent.QUESTION, Intent.THANKS)), True),
        (Extraction(version="1", intents=(Intent.STATEMENT,), kind=MessageKind.OPINION), True),
        (Extraction(version="1", intents=(Intent.STATEMENT,), kind=MessageKind.MEMORY), False),
        (Extraction(version="1", intents=(Intent.GREETING,), kind=MessageKind.GREETING, facts=(FACT,)), False),
    ],
    ids=[
        *("for nothing", "states a fact", "not read", "read without the reader", "a request", "a question"),
        *("asks for an opinion", "for memory", "a greeting that tells something"),
    ],
)
def test_what_was_read_and_tells_nothing_only_asks(understood: Extraction, only: bool) -> None:
    assert understood.only_asks is only
