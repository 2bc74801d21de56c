"""A conversation in one line, and an extractor that knows exactly the names listed here."""

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import pytest

from memory.coreference.resolver import RuleResolver
from memory.ports.language import Extractor
from memory.values.dialogue import Role, Turn
from memory.values.entities import Entity
from memory.values.extractions import Extraction
from memory.values.ids import entity_id
from memory.values.mentions import EntitySubtype, Mention
from memory.values.resolutions import CoreferenceResult, ResolutionRequest
from memory.values.text import normalise

NOW = datetime(2026, 2, 4, 12, tzinfo=UTC)
USER = "user-1"

NAMES = {
    EntitySubtype.PERSON: (
        "張小姐、王先生、李老師、陳大文、林俊傑、王菲、李小姐、张小姐、陈先生、李小龙、Alice、Bob、Mr. Smith、Mrs. "
        "Jones、Tom"
    ),
    EntitySubtype.ORGANISATION: (
        "宏康、台積電、鴻海、腾讯、小米、清华大学、鼎泰豐、IBM、OpenAI、Acme、Golden Wok、Stanford University"
    ),
    EntitySubtype.PLACE: ("台北、高雄、京都、杭州、Kyoto、Paris"),
    EntitySubtype.PRODUCT: (
        "AI-Box、HCI-500、Redis、Qdrant、ArangoDB、微信、Postgres、iPhone 15、Pixel 8、Model Y、ThinkPad、小米手机"
    ),
    EntitySubtype.WORK: ("三體、紅樓夢、三体、红楼梦、流浪地球、Inception、Dune"),
}
TYPES = {name: subtype for subtype, names in NAMES.items() for name in names.split("、")}
_LISTED = re.compile(
    "|".join(
        (rf"\b{re.escape(name)}\b" if name.isascii() else re.escape(name))
        for name in sorted(TYPES, key=len, reverse=True)
    ),
    re.ASCII,
)


class ListedNames(Extractor):
    """Finds the names of the table and the known ones, nothing else."""

    async def extract(self, texts: Sequence[str], *, known: Sequence[Sequence[str]] | None = None) -> list[Extraction]:
        extractions = []
        for at, text in enumerate(texts):
            spans: dict[tuple[int, int], EntitySubtype | None] = {
                match.span(): TYPES[match[0]] for match in _LISTED.finditer(text)
            }
            for name in known[at] if known else ():
                spans |= {
                    match.span(): None for match in re.finditer(re.escape(name), text) if match.span() not in spans
                }
            mentions: list[Mention] = []
            for (start, end), subtype in sorted(spans.items(), key=lambda item: (item[0][0], -item[0][1])):
                if not mentions or start >= mentions[-1].end:
                    mentions.append(Mention(text=text[start:end], start=start, end=end, subtype=subtype))
            extractions.append(Extraction(mentions=tuple(mentions)))
        return extractions


Resolve = Callable[..., Awaitable[CoreferenceResult]]


def entity(value: str, subtype: EntitySubtype | None = None, **fields: object) -> Entity:
    return Entity(
        entity_id=entity_id(USER, value), user_id=USER, entity_value=value, normalised_value=normalise(value),
        subtype=subtype, first_mentioned=NOW, last_mentioned=NOW, mention_count=1, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def request(query: str, turns: Sequence[str] = (), **fields: object) -> ResolutionRequest:
    """The user speaks first, then the assistant, in turn."""
    conversation = tuple(
        Turn(role=Role.ASSISTANT if at % 2 else Role.USER, content=text, created_at=NOW)
        for at, text in enumerate(turns)
    )
    return ResolutionRequest(query=query, user_id=USER, turns=conversation, now=NOW, **fields)  # type: ignore[arg-type]


@pytest.fixture
def extractor() -> Extractor:
    return ListedNames()


@pytest.fixture
def make_entity() -> Callable[..., Entity]:
    return entity


@pytest.fixture
def make_request() -> Callable[..., ResolutionRequest]:
    return request


@pytest.fixture
def resolve(extractor: Extractor) -> Resolve:
    resolver = RuleResolver(extractor=extractor)

    async def run(query: str, *turns: str, **fields: object) -> CoreferenceResult:
        return await resolver.resolve(request(query, turns, **fields))

    return run
