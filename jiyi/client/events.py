"""What the streams of the API tell, event by event."""

from dataclasses import dataclass
from typing import TypeAlias

from httpx_sse import ServerSentEvent

from deployments.http.schemas.memory.chat import ChatReply
from deployments.http.schemas.memory.understanding import ResolveReply
from deployments.http.schemas.operations.pipelines import RunDetail, RunSummary
from memory.values.hits import SearchResult
from memory.values.understanding.resolutions import Clarification

from ..errors import refusal_of
from .calls import problem_of, read_json


@dataclass(frozen=True)
class Resolved:
    """What the message refers to and is for."""

    resolution: ResolveReply


@dataclass(frozen=True)
class Asked:
    """A reference is ambiguous: the question to ask."""

    clarification: Clarification


@dataclass(frozen=True)
class Found:
    """The memories that the reply may use."""

    sources: SearchResult


@dataclass(frozen=True)
class Delta:
    """A piece of the reply."""

    text: str


@dataclass(frozen=True)
class Done:
    """The whole reply; the turn is safely stored."""

    reply: ChatReply


ChatEvent: TypeAlias = Resolved | Asked | Found | Delta | Done


@dataclass(frozen=True)
class RunEvent:
    """How far a run is: `state` where its status changed, `progress` where more is done, `end` with the whole run."""

    name: str
    run: RunSummary


def read_chat_event(event: ServerSentEvent) -> ChatEvent | None:
    """An event of `POST /chat`; None for one that this version does not know.

    Raises:
        Refused: It tells of an error.
        UnexpectedReply: Its data are not what they should be.
    """
    match event.event:
        case "resolution":
            return Resolved(read_json(ResolveReply, event.data, "resolution"))
        case "clarification":
            return Asked(read_json(Clarification, event.data, "clarification"))
        case "sources":
            return Found(read_json(SearchResult, event.data, "sources"))
        case "delta":
            return Delta(read_json(dict[str, str], event.data, "delta")["text"])
        case "done":
            return Done(read_json(ChatReply, event.data, "done"))
        case "error":
            problem = problem_of(event)
            raise refusal_of(problem, status=int(problem.get("status", 500)))
        case _:
            return None


def ends_chat(event: ServerSentEvent) -> bool:
    """Whether nothing follows."""
    return event.event == "done"


def read_run_event(event: ServerSentEvent) -> RunEvent | None:
    """An event of a run that is followed; None for one that this version does not know.

    Raises:
        UnexpectedReply: Its data are not what they should be.
    """
    kind = {"state": RunSummary, "progress": RunSummary, "end": RunDetail}.get(event.event)
    return None if kind is None else RunEvent(event.event, read_json(kind, event.data, event.event))


def ends_run(event: ServerSentEvent) -> bool:
    """Whether nothing follows."""
    return event.event == "end"
