"""An anonymised memory is no hit, whatever leads to it: words, an index that is away, or a fact that it stated too."""

from datetime import UTC, datetime

from memory.language.keywords import KeywordAnalyzer
from memory.retrieval.legs import matches_filter, overlap_leg
from memory.values.governance.decisions import anonymised_memory
from memory.values.hits import SearchFilter, SearchRequest
from memory.values.records import Memory

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = Memory(
    memory_id="m",
    user_id="ann",
    session_id="s",
    resource_id="r",
    text="The key is anonymized.",
    created_at=NOON,
    updated_at=NOON,
)


def test_it_matches_no_filter_and_no_words() -> None:
    request = SearchRequest(query="anonymized", user_id="ann", now=NOON)
    for memory, found in ((SAID, True), (anonymised_memory(SAID), False)):
        assert matches_filter(memory, SearchFilter()) is found
        assert bool(overlap_leg(request, [memory], KeywordAnalyzer())) is found
