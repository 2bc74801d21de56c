"""Types that the ArangoDB driver leaves open."""

from typing import TypeVar

from arango.job import AsyncJob, BatchJob

T = TypeVar("T")


def result(answer: "T | AsyncJob[T] | BatchJob[T] | None") -> T:
    """The driver types every answer as one that may be a job; outside its job APIs it is the value itself."""
    assert answer is not None
    assert not isinstance(answer, AsyncJob | BatchJob)
    return answer
