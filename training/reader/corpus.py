"""Reads the chat corpus: marked queries, and messages with names, intents and facts.

The format is described in the corpus' README; `shared.chat_corpus` splits it by file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memory.coreference.context import TURNS
from memory.values.predicates import OTHER, PREDICATES
from memory.values.understanding.readings import Action, Intent, MessageKind, Qualifier

from ..names.ner_files import NamedSpan
from ..shared.chat_corpus import blocks, files_of, language_of
from ..shared.data_sets import Part

_REFERENCE = re.compile(r"\{([^{}|]*)\|([^{}|]*)(?:\|([^{}|]*))?\}")
_NAME = re.compile(r"\[([^\[\]|]+)\|(\w+)\]")
_SAID = re.compile(r"(?P<kind>[a-z]+)/(?P<intents>[a-z+]+): (?P<message>.+)")


@dataclass(frozen=True, slots=True)
class MarkedReference:
    """A reference or a gap of a query: `query[start:end]`, its antecedents, or the options to ask about."""

    start: int
    end: int
    antecedents: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MarkedQuery:
    """A query after its history.

    Attributes:
        id: File and line.
        language: Of `shared.chat_corpus.LANGUAGES`.
        category: Of its block.
        turns: History, oldest first.
        query: As it was asked.
        target: What it means; the query itself where it is left alone or asked back.
        action: Keep, rewrite or ask.
        references: Those that are marked.
    """

    id: str
    language: str
    category: str
    turns: tuple[str, ...]
    query: str
    target: str
    action: Action
    references: tuple[MarkedReference, ...]


@dataclass(frozen=True, slots=True)
class MarkedFact:
    """A stated fact; `subject` is empty for the speaker, and `time` where none is marked."""

    subject: str
    predicate: str
    object: str
    qualifiers: tuple[Qualifier, ...] = ()
    time: str = ""


_EVERYDAY = ("p", "j", "k")
"""Writers of such files, by the letter in the file's name."""


@dataclass(frozen=True, slots=True)
class MarkedMessage:
    """A message after its history, with what it names, what it is for, and the facts that it states.

    Where `is_whole` is false the intents alone are marked, and `names` and `facts` are not known.
    """

    id: str
    language: str
    turns: tuple[str, ...]
    text: str
    names: tuple[NamedSpan, ...]
    intents: tuple[Intent, ...]
    facts: tuple[MarkedFact, ...]
    is_whole: bool = True

    @property
    def is_everyday(self) -> bool:
        """Whether it is of a file of plain messages, as people type them every day."""
        return self.id.split("-")[-2][0] in _EVERYDAY


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message after what was said before it, and what is known of it as a whole; None where that is not known.

    Attributes:
        language: Of `shared.chat_corpus.LANGUAGES`.
        turns: What was said before, oldest first.
        text: The message.
        kind: What it is for.
        asks_to_forget: Whether it asks to forget something.
        intents: Those that hold.
        meaning: The message with its references and gaps filled in.
    """

    language: str
    turns: tuple[str, ...]
    text: str
    kind: MessageKind | None = None
    asks_to_forget: bool | None = None
    intents: tuple[Intent, ...] | None = None
    meaning: str | None = None


def read_queries(folders: Sequence[Path], part: Part) -> list[MarkedQuery]:
    """The marked queries of a part, from the `references` folders of corpora, in the order of their files."""
    return [query for path in files_of(folders, "references", part) for query in _queries(path)]


def read_messages(folders: Sequence[Path], part: Part) -> list[MarkedMessage]:
    """The marked messages of a part, from the `messages` folders of corpora, in the order of their files."""
    return [message for path in files_of(folders, "messages", part) for message in _messages(path)]


def read_intents(folders: Sequence[Path], part: Part) -> list[MarkedMessage]:
    """The messages of a part of which the intents alone are marked, from the `intents` folders of corpora."""
    messages = [message for path in files_of(folders, "intents", part) for message in _messages(path)]
    return [replace(message, is_whole=False) for message in messages]


def read_talks(folders: Sequence[Path], part: Part) -> list[SignedMessage]:
    """The user's messages of a part, from the `talks` folders of corpora, in the order of their files."""
    return [message for path in files_of(folders, "talks", part) for message in _talks(path)]


def read_kinds(folders: Sequence[Path], part: Part) -> list[SignedMessage]:
    """The messages of a part of which the kind alone is marked, from the `kinds` folders of corpora."""
    return [
        SignedMessage(language_of(path), (), text.strip(), kind=MessageKind(kind))
        for path in files_of(folders, "kinds", part)
        for kind, _, text in (line.partition(":") for line in path.read_text(encoding="utf-8").splitlines())
        if text.strip()
    ]


def read_requests_to_forget(folders: Sequence[Path], part: Part) -> list[SignedMessage]:
    """The messages of a part of `forget_messages`: those that ask to forget something, and others."""
    return [
        SignedMessage(language_of(path), (), text, asks_to_forget=asks)
        for path in files_of(folders, "forget_messages", part)
        for text, asks in signed_lines(path)
    ]


def signed_lines(path: Path) -> Iterator[tuple[str, bool]]:
    """The messages of a file in which `+` makes a request and `-` does not, and whether each does."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(("+ ", "- ")):
            yield line[2:].strip(), line.startswith("+")


def _talks(path: Path) -> Iterator[SignedMessage]:
    language = language_of(path)
    for block in blocks(path):
        turns: list[str] = []
        for _, line in block:
            if line.startswith("A: "):
                turns.append(line[3:].strip())
            elif found := _SAID.fullmatch(line):
                text, meaning, _ = _unmarked(found["message"].strip(), language)
                intents = tuple(Intent(intent) for intent in found["intents"].split("+"))
                yield SignedMessage(
                    language,
                    tuple(turns[-TURNS:]),
                    text,
                    kind=MessageKind(found["kind"]),
                    asks_to_forget=Intent.FORGET in intents,
                    intents=intents,
                    meaning=meaning,
                )
                turns.append(text)


def _queries(path: Path) -> Iterator[MarkedQuery]:
    language = language_of(path)
    category = "thing"
    for block in blocks(path):
        turns = tuple(line[2:].strip() for _, line in block if line.startswith(("U:", "A:")))
        for number, line in block:
            if line.startswith("# "):
                category = line[2:].strip()
            elif line.startswith("Q:"):
                query, target, references = _unmarked(line[2:].strip(), language)
                asks = any(reference.options for reference in references)
                yield MarkedQuery(
                    id=f"{path.stem}-{number}",
                    language=language,
                    category=category,
                    turns=turns,
                    query=query,
                    target=query if asks else target,
                    action=Action.ASK if asks else Action.REWRITE if references else Action.KEEP,
                    references=references,
                )


def _unmarked(marked: str, language: str) -> tuple[str, str, tuple[MarkedReference, ...]]:
    joint = " and " if language == "en" else "和"
    query = target = ""
    references = []
    at = 0
    for found in _REFERENCE.finditer(marked):
        plain = marked[at : found.start()]
        query, target = query + plain, target + plain
        start = len(query)
        query += found[1]
        if found[2].startswith("?"):
            options = tuple(option for option in found[2].split("?") if option)
            references.append(MarkedReference(start, len(query), options=options))
            target += found[1]
        else:
            meant = tuple(antecedent.strip() for antecedent in found[2].split("+") if antecedent.strip())
            references.append(MarkedReference(start, len(query), antecedents=meant))
            target += found[3] if found[3] is not None else joint.join(meant)
        at = found.end()
    return query + marked[at:], target + marked[at:], tuple(references)


def _messages(path: Path) -> Iterator[MarkedMessage]:
    language = language_of(path)
    for block in blocks(path):
        turns: list[str] = []
        text = ""
        names: list[NamedSpan] = []
        intents: tuple[Intent, ...] = ()
        facts: list[MarkedFact] = []
        place = 0
        for number, line in block:
            key, value = line[:2], line[2:].strip()
            if key in ("U:", "A:"):
                turns.append(value)
            elif key == "M:":
                text, names = _named(value)
                place = number
            elif key == "I:":
                intents = tuple(Intent(intent.strip()) for intent in value.split(","))
            elif key == "F:":
                facts.append(_fact(value))
        if text:
            yield MarkedMessage(
                f"{path.stem}-{place}", language, tuple(turns), text, tuple(names), intents, tuple(facts)
            )


def _named(marked: str) -> tuple[str, list[NamedSpan]]:
    names: list[NamedSpan] = []
    text, at = "", 0
    for found in _NAME.finditer(marked):
        text += marked[at : found.start()]
        names.append(NamedSpan(len(text), len(text) + len(found[1]), found[2]))
        text += found[1]
        at = found.end()
    return text + marked[at:], names


def _fact(line: str) -> MarkedFact:
    subject, predicate, object_, *rest = (part.strip() for part in line.split("|"))
    marks = [mark.strip() for part in rest for mark in part.split(",") if mark.strip()]
    return MarkedFact(
        subject="" if subject == "user" else subject,
        predicate=predicate if predicate in PREDICATES else OTHER,
        object=object_,
        qualifiers=tuple(Qualifier(mark) for mark in marks if not mark.startswith("time=")),
        time=next((mark.removeprefix("time=") for mark in marks if mark.startswith("time=")), ""),
    )
