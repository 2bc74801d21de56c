"""The data sets of names: where they are, under which licence, how their types are mapped, what they leave unmarked.

A type is mapped to one label of `models.reader.labels`; a finer label implies its subtype. Sources do not mark the same
subtypes, so what one leaves unmarked is no evidence: `coverage` says how much a source's silence about a subtype weighs
(1: it marks them all; 0: it says nothing; `RARE` where its kind of text seldom holds one).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memory.values.understanding.mentions import EntitySubtype

from .ner_files import MarkedText, read_cluener, read_columns, read_pairs, read_uner, read_weibo, read_wikiann

RARE = 0.1
_PERSON, _ORGANISATION, _PLACE = EntitySubtype.PERSON, EntitySubtype.ORGANISATION, EntitySubtype.PLACE
_PRODUCT, _WORK, _EVENT, _CODE = EntitySubtype.PRODUCT, EntitySubtype.WORK, EntitySubtype.EVENT, EntitySubtype.CODE
_THREE = {_PERSON: 1.0, _ORGANISATION: 1.0, _PLACE: 1.0}
_PER_ORG_LOC = {"PER": "person", "ORG": "organisation", "LOC": "place"}
Reader = Callable[[Path], Iterable[MarkedText]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NerSet:
    """A data set for named entity recognition.

    Attributes:
        name: Name in the tables.
        train: Reads what is split into train, tune and, without `dev`, report.
        dev: Reads the publisher's own dev part, which is reported on.
        reported: Texts of `train` that are reported on where there is no `dev`; of `dev`, at most.
        tuned: Texts that are tuned on.
        types: The source's types to labels; those that it lacks are marked but mapped to nothing.
        coverage: Marked share of each subtype; `RARE` for those without an entry.
        scored: Labels of the published task; empty where only the mapped score is reported.
        weight: How often an epoch reads a training row.
        chinese: Whether rows can be converted to Traditional characters.
        is_english: Whether rows can lose their capitals.
        licence: As the publisher states it.
        is_open: Whether that licence allows any use.
        published: Published F1 and its model, for the table.
    """

    name: str
    train: Reader
    dev: Reader | None = None
    reported: int = 100_000
    tuned: int = 200
    types: Mapping[str, str]
    coverage: Mapping[EntitySubtype, float]
    scored: tuple[str, ...] = ()
    weight: float = 1.0
    chinese: bool = False
    is_english: bool = False
    licence: str
    is_open: bool = False
    published: str = "–"


def _file(read: Callable[[Path], Iterable[MarkedText]], *names: str) -> Reader:
    return lambda folder: (row for name in names for row in read(folder / name))


_characters = partial(read_columns, joint="")
_words = partial(read_columns, joint=" ")
_CROSSNER_TYPES = {
    "person": "person", "researcher": "person", "scientist": "person", "writer": "person", "politician": "person",
    "musicalartist": "person", "organisation": "organisation", "university": "organisation", "band": "group",
    "politicalparty": "organisation", "location": "place", "country": "gpe", "product": "product",
    "programlang": "product", "conference": "event", "event": "event", "election": "event", "book": "book",
    "poem": "work", "magazine": "work", "academicjournal": "work", "album": "work", "song": "work",
}  # fmt: skip
_DOMAINS = ("ai", "literature", "music", "politics", "science")

NER_SETS = (
    NerSet(
        name="cluener",
        train=_file(read_cluener, "cluener2020/train.json"),
        reported=1000,
        tuned=300,
        types={
            "name": "person", "company": "company", "government": "government", "organization": "association",
            "address": "address", "scene": "scene", "position": "position", "game": "game", "movie": "movie",
            "book": "book",
        },
        coverage={**_THREE, _WORK: 0.3},
        scored=("person", "company", "government", "association", "address", "scene", "position", "game", "movie",
                "book"),
        weight=1.5,
        chinese=True,
        licence="none stated",
        published="78.8 BERT-base, 80.4 RoBERTa-wwm-large (test); 80.8 BERT+CRF (dev)",
    ),
    NerSet(
        name="uner_traditional",
        train=_file(read_uner, "uner_zh_gsd_traditional/zh_gsd-ud-train.iob2"),
        dev=_file(read_uner, "uner_zh_gsd_traditional/zh_gsd-ud-dev.iob2"),
        tuned=150,
        types=_PER_ORG_LOC,
        coverage=_THREE,
        scored=("person", "organisation", "place"),
        weight=0.8,
        licence="CC BY-SA 4.0",
        is_open=True,
        published="XLM-R-large, high 80s (test)",
    ),
    NerSet(
        name="uner_simplified",
        train=_file(read_uner, "uner_zh_gsdsimp/zh_gsdsimp-ud-train.iob2"),
        dev=_file(read_uner, "uner_zh_gsdsimp/zh_gsdsimp-ud-dev.iob2"),
        tuned=150,
        types=_PER_ORG_LOC,
        coverage=_THREE,
        scored=("person", "organisation", "place"),
        weight=0.8,
        licence="CC BY-SA 4.0",
        is_open=True,
    ),
    NerSet(
        name="msra",
        train=lambda folder: read_pairs(folder / "msra_ner/val_sentences.txt", folder / "msra_ner/val_tags.txt"),
        reported=800,
        tuned=150,
        types=_PER_ORG_LOC,
        coverage=_THREE,
        scored=("person", "organisation", "place"),
        weight=1.5,
        chinese=True,
        licence="none stated (SIGHAN 2006, research use)",
        published="94.7 BERT-base with 45k training sentences; here 2k",
    ),
    NerSet(
        name="peoples_daily",
        train=_file(_characters, "peoples_daily_ner/example.dev"),
        reported=600,
        tuned=120,
        types=_PER_ORG_LOC,
        coverage=_THREE,
        scored=("person", "organisation", "place"),
        weight=1.5,
        chinese=True,
        licence="none stated",
        published="95.3 BERT-base with 20k training sentences; here 1.6k",
    ),
    NerSet(
        name="weibo",
        train=_file(read_weibo, "weibo_ner/weiboNER_2nd_conll.train"),
        dev=_file(read_weibo, "weibo_ner/weiboNER_2nd_conll.dev"),
        tuned=100,
        types={
            "PER.NAM": "person", "ORG.NAM": "organisation", "LOC.NAM": "location", "GPE.NAM": "gpe",
            "PER.NOM": "person_nominal", "ORG.NOM": "organisation_nominal", "LOC.NOM": "location_nominal",
            "GPE.NOM": "gpe_nominal",
        },
        coverage=_THREE,
        scored=("person", "organisation", "location", "gpe", "person_nominal", "organisation_nominal",
                "location_nominal", "gpe_nominal"),
        weight=1.5,
        chinese=True,
        licence="CC BY-SA 3.0 (annotations)",
        is_open=True,
        published="69.5 TaCL-BERT-CRF (test)",
    ),
    NerSet(
        name="resume",
        train=_file(_characters, "resume_ner/train.char.bmes"),
        dev=_file(_characters, "resume_ner/dev.char.bmes"),
        types={
            "NAME": "person", "CONT": "nationality", "RACE": "ethnicity", "TITLE": "position", "EDU": "degree",
            "ORG": "employer", "PRO": "profession", "LOC": "place",
        },
        coverage={_PERSON: 1.0, _ORGANISATION: 0.0},
        scored=("person", "nationality", "ethnicity", "position", "degree", "employer", "profession", "place"),
        weight=0.6,
        chinese=True,
        licence="none stated (research)",
        published="95.0–96.5 BERT-base (test)",
    ),
    NerSet(
        name="ecommerce",
        train=_file(_characters, "ecommerce_ner_zh/train.txt"),
        dev=_file(_characters, "ecommerce_ner_zh/dev.txt"),
        tuned=300,
        types={"HCCX": "goods", "HPPX": "brand", "XH": "model", "MISC": "misc"},
        coverage={_ORGANISATION: 1.0, _CODE: 1.0, _PRODUCT: 0.0, _WORK: 0.0, _EVENT: 0.0},
        scored=("goods", "brand", "model", "misc"),
        weight=1.2,
        chinese=True,
        licence="none stated",
        published="75–80",
    ),
    NerSet(
        name="youku",
        train=_file(_characters, "youku_ner_zh/train.txt"),
        dev=_file(_characters, "youku_ner_zh/dev.txt"),
        tuned=300,
        types={"TELEVISION": "television", "PER": "person", "MISC": "misc"},
        coverage={_PERSON: 1.0, _WORK: 0.3, _PRODUCT: 0.0, _ORGANISATION: 0.0},
        scored=("television", "person", "misc"),
        weight=0.7,
        chinese=True,
        licence="none stated",
        published="80–84",
    ),
    NerSet(
        name="conll2003",
        train=_file(_words, "crossner/conll2003/train.txt"),
        dev=_file(_words, "crossner/conll2003/dev.txt"),
        tuned=300,
        types={"person": "person", "organisation": "organisation", "location": "place", "misc": "misc"},
        coverage={**_THREE, _PRODUCT: 0.0, _WORK: 0.0, _EVENT: 0.0},
        scored=("person", "organisation", "place", "misc"),
        weight=0.7,
        is_english=True,
        licence="research only (Reuters text)",
        published="91.2–91.9 BERT-base-cased (test)",
    ),
    *(
        NerSet(
            name=f"crossner_{domain}",
            train=_file(_words, f"crossner/{domain}/train.txt", f"crossner/{domain}/dev.txt"),
            reported=150,
            tuned=20,
            types=_CROSSNER_TYPES,
            coverage={**_THREE, _EVENT: 1.0, _WORK: 1.0, _PRODUCT: 1.0 if domain == "ai" else RARE},
            weight=1.5,
            is_english=True,
        licence="MIT",
            is_open=True,
        )
        for domain in _DOMAINS
    ),
    NerSet(
        name="wnut17",
        train=_file(_words, "wnut17/wnut17train.conll"),
        dev=_file(_words, "wnut17/emerging.dev.conll"),
        tuned=300,
        types={
            "person": "person", "location": "place", "corporation": "company", "group": "group",
            "product": "product", "creative-work": "work",
        },
        coverage={**_THREE, _PRODUCT: 1.0, _WORK: 1.0},
        scored=("person", "place", "company", "group", "product", "work"),
        weight=1.5,
        is_english=True,
        licence="CC BY 4.0",
        is_open=True,
        published="46–50 BERT-base, best about 60 (test)",
    ),
    NerSet(
        name="wikiann_en",
        train=_file(read_wikiann, "wikiann_en/train"),
        dev=_file(read_wikiann, "wikiann_en/dev"),
        reported=2000,
        types=_PER_ORG_LOC,
        coverage={**_THREE, _PRODUCT: 0.0, _WORK: 0.0, _EVENT: 0.0},
        scored=("person", "organisation", "place"),
        weight=0.15,
        is_english=True,
        licence="none stated",
    ),
    NerSet(
        name="uner_en",
        train=_file(read_uner, "uner_en_ewt/en_ewt-ud-dev.iob2"),
        reported=600,
        tuned=100,
        types=_PER_ORG_LOC,
        coverage=_THREE,
        scored=("person", "organisation", "place"),
        weight=1.5,
        is_english=True,
        licence="CC BY-SA 4.0",
        is_open=True,
    ),
)  # fmt: skip
