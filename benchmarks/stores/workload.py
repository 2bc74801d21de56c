"""Entities, relations, vectors and questions for the stores' benchmark: seeded, the same in every process."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np
import numpy.typing as npt

from memory.language.keywords import KeywordAnalyzer
from memory.ports.stores.vectors import FloatVector
from memory.values.entities import Entity, EntityRelation
from memory.values.ids import derive_id, entity_id
from memory.values.text import normalise
from memory.values.vectors import SparseVector

DIMENSION = 384
BATCH = 64
RELATIONS_EACH = 5
HEAVY = "user-heavy"

_POOL = 20_000
_CLUSTERS = 256
_STRIDE = 7_919  # a prime that does not divide the pool: a user meets every name once
_NOISE = 0.05  # a standard deviation a coordinate: cosines of about 0.5 within a cluster, as centres have length 1
_START = datetime(2026, 1, 1, tzinfo=UTC)


def _words(text: str) -> list[str]:
    return text.split()


_SURNAMES = "陳林黃張李王吳劉蔡楊許鄭謝郭洪曾邱廖賴周"
_GIVEN = "志明俊傑建宏家豪淑芬雅婷怡君美玲承恩宗翰佩珊欣怡冠宇詩涵柏翰思妤"
_BRANDS = _words("宏遠 聯華 台達 遠東 國泰 新光 華新 中鼎 東元 大同 力晶 正文 友訊 神達 英業 藍天 微星 建興 明基 瑞昱")
_TRADES = _words("科技 電子 生技 建設 物流 食品 機械 紡織 能源 資訊")
_FIRST = _words("James Mary Robert Linda Michael Susan David Karen Daniel Nancy Paul Laura Mark Emma Kevin Julia Brian")
_LAST = _words("Smith Johnson Brown Garcia Miller Davis Wilson Moore Taylor Thomas Jackson White Harris Martin Lewis")
_GOODS = _words("router sensor gateway camera battery display keyboard server switch controller")
_ASKING = (
    "{}的報價單什麼時候會好？",
    "上次說的{}後來怎麼樣了。",
    "what did we agree on with {}?",
    "請把{}的會議記錄發給我",
)


@dataclass(frozen=True)
class Question:
    """One search: a text, and what the encoder and the analyser would make of it."""

    text: str
    dense: FloatVector
    sparse: SparseVector


class Workload:
    """What a store of a given size holds.

    Args:
        entities: How many, over all equal users.
        users: How many equal users.
        heavy: Entities of one more user, who has many.
    """

    def __init__(self, *, entities: int, users: int, heavy: int) -> None:
        self.share = entities // users
        self.users = [f"user-{number:06d}" for number in range(users)]
        self.heavy = heavy
        if max(self.share, heavy) > _POOL:
            raise SystemExit(f"a user can have {_POOL:,} entities at most: use more users")

    @cached_property
    def names(self) -> list[str]:
        """Distinct names of people, companies and products, Chinese and English in turn."""
        kinds = (
            ("".join(parts) for parts in _shuffled(_SURNAMES, _GIVEN, _GIVEN)),
            (f"{a}{b}{c}股份有限公司" for a, b, c in _shuffled(_BRANDS, _GIVEN, _TRADES)),
            (" ".join(parts) for parts in _shuffled(_FIRST, _FIRST, _LAST)),
            (f"{a} {b.upper()}-{c}" for a, b, c in _shuffled(_GOODS, "abcdefgh", range(1000))),
        )
        distinct: dict[str, str] = {}
        for name in itertools.chain.from_iterable(zip(*map(itertools.cycle, kinds), strict=True)):
            distinct.setdefault(normalise(name), name)
            if len(distinct) == _POOL:
                break
        return list(distinct.values())

    @cached_property
    def vectors(self) -> npt.NDArray[np.float32]:
        """Unit vectors around random centres, one per name: shape (names, 384)."""
        generator = np.random.default_rng(7)
        centres = generator.standard_normal((_CLUSTERS, DIMENSION)) / DIMENSION**0.5
        places = generator.integers(_CLUSTERS, size=_POOL)
        vectors = centres[places] + _NOISE * generator.standard_normal((_POOL, DIMENSION))
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    @cached_property
    def terms(self) -> list[SparseVector]:
        """BM25 weights of each name."""
        analyzer = KeywordAnalyzer()
        return [analyzer.document_vector(name) for name in self.names]

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The index of each name in `names`."""
        return {name: place for place, name in enumerate(self.names)}

    def count(self, user_id: str) -> int:
        """The number of entities of a user."""
        return self.heavy if user_id == HEAVY else self.share

    def name(self, user_id: str, number: int) -> str:
        """The name of a user's entity."""
        begin = sum(user_id.encode()) * 31 + int(user_id[5:] if user_id != HEAVY else 0) * 17
        return self.names[(begin + number * _STRIDE) % _POOL]

    def entities(self, user_id: str, numbers: range) -> list[Entity]:
        """Some of a user's entities; every third has an alias."""
        entities = []
        for number in numbers:
            name = self.name(user_id, number)
            at = _START + timedelta(minutes=number)
            entities.append(
                Entity(
                    entity_id=entity_id(user_id, name),
                    user_id=user_id,
                    entity_value=name,
                    normalised_value=normalise(name),
                    aliases=(f"{name[:4]} {number}",) if number % 3 == 0 else (),
                    confidence=0.6 + number % 4 / 10,
                    first_mentioned=at,
                    last_mentioned=at,
                    mention_count=1 + number % 7,
                    attributes={"note": f"第 {number} 次提到", "city": _BRANDS[number % len(_BRANDS)]},
                )
            )
        return entities

    def relations(self, user_id: str, numbers: range) -> list[EntityRelation]:
        """Five relations from each of these entities to random others up to the last of them."""
        chooser = random.Random(f"{user_id} {numbers.start}")
        relations = []
        for number in numbers:
            source = self.id(user_id, number)
            others = min(RELATIONS_EACH, numbers.stop - 1)
            for place in chooser.sample(range(numbers.stop - 1), others):
                target = self.id(user_id, place + (place >= number))
                relations.append(
                    EntityRelation(
                        relation_id=derive_id("relation", user_id, source, target),
                        user_id=user_id,
                        source_entity_id=source,
                        target_entity_id=target,
                        relation_type="works_with",
                        confidence=0.5 + number % 5 / 10,
                        evidence=f"turn-{number}",
                        created_at=_START,
                        updated_at=_START,
                    )
                )
        return relations

    def id(self, user_id: str, number: int) -> str:
        """The id of a user's entity."""
        return entity_id(user_id, self.name(user_id, number))

    def batches(self) -> Iterator[list[tuple[str, range]]]:
        """Rounds in which each user writes one batch in turn, so that users' rows lie scattered, as over months.

        The heavy user comes last, in rounds of its own.
        """
        for users, count in ((self.users, self.share), ([HEAVY], self.heavy)):
            for begin in range(0, count, BATCH):
                yield [(user, range(begin, min(begin + BATCH, count))) for user in users]

    def questions(self, user_id: str, count: int) -> list[Question]:
        """Questions about a user's entities, with embeddings near theirs."""
        chooser, generator = random.Random(user_id), np.random.default_rng(sum(user_id.encode()))
        analyzer = KeywordAnalyzer()
        questions = []
        for _ in range(count):
            name = self.name(user_id, chooser.randrange(self.count(user_id)))
            text = chooser.choice(_ASKING).format(name)
            near = self.vectors[self.place_of[name]] + _NOISE / 2 * generator.standard_normal(DIMENSION)
            dense = (near / np.linalg.norm(near)).astype(np.float32)
            questions.append(Question(text, dense, analyzer.query_vector(text)))
        return questions


def _shuffled(*parts: object) -> Iterator[tuple[str, ...]]:
    everything = [tuple(map(str, chosen)) for chosen in itertools.product(*parts)]  # type: ignore[call-overload]
    random.Random(7).shuffle(everything)
    return iter(everything)
