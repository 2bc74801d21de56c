"""The error tree of Jiyi.

    JiyiError
    ├── BadRequest            the caller's fault: a 4xx that names the field; nothing was changed
    │   ├── InvalidField      one field holds what is not allowed
    │   │   ├── InvalidChunkSize     a size or overlap of chunks out of its range (400, 004 §6.3)
    │   │   ├── InvalidSearchConfig  a parameter of a search in knowledge out of its range (400, 004 §6.3)
    │   │   └── InvalidMetadata      metadata that the schema of its corpus does not allow (400, 004 §6.3)
    │   ├── UnreadableDocumentError  a file that no parser can read
    │   ├── NotFound          the thing that was named is not there (for this user)
    │   │   ├── CorpusNotFound     a corpus of this app (004 §6.3)
    │   │   └── KnowledgeNotFound  a source or a version of one (004 §6.3)
    │   ├── Conflict          it cannot be done as things are: somebody is at it already (409)
    │   │   └── VersionConflict   something has another version than was expected
    │   ├── Unauthenticated   there is no valid credential (401)
    │   ├── Forbidden         the credential does not allow it (403)
    │   └── Overloaded        come back later: a queue is full (429)
    └── Unavailable           a part of Jiyi cannot answer now (503)
        ├── StoreUnavailable  a store is down, slow or refuses
        │   ├── StoreBusy     it works, but too much waits for it
        │   ├── DatabaseError the record of knowledge cannot answer (500, 004 §6.3)
        │   └── SearchError   no leg of a search in knowledge can answer (500, 004 §6.3)
        └── ModelUnavailable  model weights are missing or broken, or a model does not answer
            ├── NoValidAnswer it answered, but nothing that can be used
            └── EmbeddingFailed  knowledge was not embedded, after retries (500, 004 §6.2)

Every error survives pickling: the final message is the first positional argument, extras are keywords with
defaults (DESIGN §10), so that it crosses a Ray Serve handle unharmed.
"""

from collections.abc import Mapping
from typing import Any


class JiyiError(Exception):
    """Base of all errors that Jiyi raises on purpose.

    Args:
        message: The complete sentence that a person reads.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.__dict__))


def _rebuild(kind: type[JiyiError], message: str, state: dict[str, Any]) -> JiyiError:
    error = kind(message)
    error.__dict__.update(state)
    return error


class BadRequest(JiyiError):
    """The caller asked for something that cannot be done as asked."""


class InvalidField(BadRequest):
    """A field of a request has a value that is not allowed; `allowed` describes the allowed values."""

    def __init__(self, message: str = "", *, field: str = "", allowed: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.allowed = allowed


class InvalidChunkSize(InvalidField):
    """`chunk_size` or `overlap` is out of its range (004 §6.5)."""


class InvalidSearchConfig(InvalidField):
    """A parameter of a search in knowledge is out of its range (004 §6.5)."""


class InvalidMetadata(InvalidField):
    """Metadata of a document that the schema of its corpus does not allow (004 §10)."""


class UnreadableDocumentError(BadRequest):
    """A file that no parser can read; `name` is the file, `reason` says why in one phrase."""

    def __init__(self, message: str = "", *, name: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.reason = reason


class NotFound(BadRequest):
    """The named item does not exist for this user."""


class CorpusNotFound(NotFound):
    """The app has no such corpus."""


class KnowledgeNotFound(NotFound):
    """The corpus has no such source, or the source no such version."""


class Conflict(BadRequest):
    """The request is valid, but conflicts with the current state."""


class VersionConflict(Conflict):
    """Something was changed since the caller saw it (004 §6.3, §7.4); `versions` are those that it has now, by id."""

    def __init__(self, message: str = "", *, versions: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.versions = dict(versions or {})


class Unauthenticated(BadRequest):
    """The request has no credential, or one that is not valid."""


class Forbidden(BadRequest):
    """The credential does not allow the request; `field` is the part of the request that claims too much."""

    def __init__(self, message: str = "", *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class Overloaded(BadRequest):
    """A bounded queue is full; try again after `retry_after_s` seconds."""

    def __init__(self, message: str = "", *, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unavailable(JiyiError):
    """A part of Jiyi cannot answer now; `component` names it."""

    def __init__(self, message: str = "", *, component: str = "") -> None:
        super().__init__(message)
        self.component = component


class StoreUnavailable(Unavailable):
    """A store refuses, is down or is too slow."""


class StoreBusy(StoreUnavailable):
    """A store works, but too much waits for it: a request is refused, and not answered worse, as without the store."""


class DatabaseError(StoreUnavailable):
    """The system of record cannot answer a request about knowledge."""


class SearchError(StoreUnavailable):
    """A search in knowledge has no leg that can answer."""


class ModelUnavailable(Unavailable):
    """Model weights are missing, unreadable or not what their entry in the catalogue says."""


class NoValidAnswer(ModelUnavailable):
    """A language model answered, but nothing that passes the checks; `reason` is the last problem, in one word."""

    def __init__(self, message: str = "", *, component: str = "", reason: str = "") -> None:
        super().__init__(message, component=component)
        self.reason = reason


class EmbeddingFailed(ModelUnavailable):
    """Texts could not be embedded, after retries; `attempts` counts the calls."""

    def __init__(self, message: str = "", *, component: str = "", attempts: int = 0) -> None:
        super().__init__(message, component=component)
        self.attempts = attempts


def raise_if_busy(error: Unavailable) -> None:
    """For whoever goes on without a part that is away: a part that is only busy is waited for or refuses.

    Raises:
        StoreBusy: The error is one.
    """
    if isinstance(error, StoreBusy):
        raise error
