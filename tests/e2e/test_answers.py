"""A service that reads its memories together with a question: what answers is quoted in short, what does not is not."""

import pytest

from models.assets.weight_files import shipped_weight_file
from tests.e2e.conftest import Service

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not shipped_weight_file("answers").exists(), reason="no answer reader is shipped"),
]


def test_a_question_is_answered_in_the_words_of_one_memory_and_left_open_where_none_answers(service: Service) -> None:
    lines = [
        {"content": "My home insurance is with Acme and renews on 12 October.", "created_at": "2026-03-01T09:00:00Z"},
        {"content": "The car passed its inspection in March.", "created_at": "2026-03-20T09:00:00Z"},
        {"content": "I share the flat with Bea, who plays the cello.", "created_at": "2026-04-02T09:00:00Z"},
    ]
    with service.client as client:
        client.add(lines, user_id="asked")
        known = client.chat("When does my home insurance renew?", user_id="asked")
        unknown = client.chat("What is my blood type?", user_id="asked")
        figures = client.operations.health().parts["extractor"]
    assert "12 October" in known.reply.splitlines()[0]
    assert known.confidence is not None
    assert unknown.confidence is not None
    assert known.confidence > 1 - unknown.confidence, "surer of what it tells than that it knows the other"
    assert (known.degraded, unknown.degraded, unknown.sources) == ((), (), ())
    assert figures["answers_loaded"] == figures["document_answers_loaded"] == 1
    assert figures["answers_items"] >= 2
    assert figures["answers_failures"] == 0


def test_a_request_for_an_overview_gets_all_that_is_known_of_what_it_names(service: Service) -> None:
    lines = [
        {"content": "My daughter Ivy started violin lessons.", "created_at": "2026-03-01T09:00:00Z"},
        {"content": "The car passed its inspection in March.", "created_at": "2026-03-20T09:00:00Z"},
        {"content": "Ivy is allergic to cashews.", "created_at": "2026-04-02T09:00:00Z"},
    ]
    with service.client as client:
        client.add(lines, user_id="overview")
        for asked in ("What do you know about Ivy?", "Tell me about Ivy"):
            heading, *quoted = client.chat(asked, user_id="overview").reply.splitlines()
            assert heading == "This is what I have:"
            assert ["cashews" in quoted[0], "violin" in quoted[1], len(quoted)] == [True, True, 2]
        one = client.chat("When did the car pass its inspection?", user_id="overview")
    assert "This is what I have" not in one.reply
    assert "March" in one.reply
