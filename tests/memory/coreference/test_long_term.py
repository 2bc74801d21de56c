"""References to what other sessions said, and what is left of them while the record is down."""

from datetime import UTC, datetime
from typing import Any

import pytest
from memory.coreference.long_term import LongTermResolver

from memory.coreference.resolver import RuleResolver
from memory.extraction.extractor import RuleExtractor
from memory.values.dialogue import Role, Turn
from memory.values.errors import StoreUnavailable
from memory.values.resolutions import ReferenceSource, ResolutionRequest
from storage.inmemory.record import InMemoryRecord

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


async def test_while_the_record_is_down_the_session_s_own_turns_still_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    record = InMemoryRecord()
    resolver = LongTermResolver(RuleResolver(extractor=RuleExtractor()), record=record)
    turn = Turn(role=Role.USER, content="我們公司買了 AI-Box。", created_at=NOW)
    request = ResolutionRequest(query="它多少錢？", user_id="ann", turns=(turn,), now=NOW)
    assert (await resolver.resolve(request)).degraded == ()

    def down(**_: Any) -> None:
        raise StoreUnavailable("gone", component="record")

    monkeypatch.setattr(record, "reading", down)
    result = await resolver.resolve(request)
    assert result.resolved_query == "AI-Box 多少錢？"
    assert result.resolutions[0].source is ReferenceSource.SESSION
    assert result.degraded == ("record",)
