"""Turns descriptions of calls into methods: of a client that waits, and of one for asyncio."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import cached_property, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from .calls import Call, Download, E, P, Paged, R, Streamed, reply_type
from .transports import AsyncTransport, SyncTransport

A = ParamSpec("A")
T_co = TypeVar("T_co", bound=SyncTransport | AsyncTransport, covariant=True)
D = TypeVar("D")
S = TypeVar("S")


class Resource(Generic[T_co]):
    """Calls that belong together, over one transport."""

    def __init__(self, transport: T_co) -> None:
        self._transport = transport


class _Described(Generic[A, D]):
    """A method that does something with the description that a function returns."""

    def __init__(self, describe: Callable[Concatenate[Any, A], D]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @cached_property
    def reply(self) -> Any:
        """The type of the reply, or of a page."""
        return reply_type(self.describe)


class endpoint(_Described[A, Call[R]], Generic[A, R]):  # noqa: N801 - a decorator
    """A method that sends the call which it describes, and returns the reply."""

    @overload
    def __get__(self, resource: None, owner: type) -> "endpoint[A, R]": ...
    @overload
    def __get__(self, resource: Resource[SyncTransport], owner: type) -> Callable[A, R]: ...
    @overload
    def __get__(self, resource: Resource[AsyncTransport], owner: type) -> Callable[A, Coroutine[Any, Any, R]]: ...

    def __get__(self, resource: Any, owner: type) -> Any:
        return self if resource is None else _bound(self.describe, resource, self._send)

    def _send(self, transport: Any, call: Call[R]) -> Any:
        return transport.send(call, self.reply)


class pages(_Described[A, Paged[P, E]], Generic[A, P, E]):  # noqa: N801 - a decorator
    """A method that returns a list which is fetched page by page, while one goes over it."""

    @overload
    def __get__(self, resource: None, owner: type) -> "pages[A, P, E]": ...
    @overload
    def __get__(self, resource: Resource[SyncTransport], owner: type) -> "Callable[A, Pages[P, E]]": ...
    @overload
    def __get__(self, resource: Resource[AsyncTransport], owner: type) -> "Callable[A, AsyncPages[P, E]]": ...

    def __get__(self, resource: Any, owner: type) -> Any:
        return self if resource is None else _bound(self.describe, resource, self._list)

    def _list(self, transport: Any, paged: Paged[P, E]) -> Any:
        kind = Pages if isinstance(transport, SyncTransport) else AsyncPages
        return kind(transport, paged, self.reply)


class events(_Described[A, Streamed[E]], Generic[A, E]):  # noqa: N801 - a decorator
    """A method that returns the events of a stream, as they come."""

    @overload
    def __get__(self, resource: None, owner: type) -> "events[A, E]": ...
    @overload
    def __get__(self, resource: Resource[SyncTransport], owner: type) -> Callable[A, Iterator[E]]: ...
    @overload
    def __get__(self, resource: Resource[AsyncTransport], owner: type) -> Callable[A, AsyncIterator[E]]: ...

    def __get__(self, resource: Any, owner: type) -> Any:
        return self if resource is None else _bound(self.describe, resource, _follow)


class download(_Described[A, Download], Generic[A]):  # noqa: N801 - a decorator
    """A method that returns a body in pieces."""

    @overload
    def __get__(self, resource: None, owner: type) -> "download[A]": ...
    @overload
    def __get__(self, resource: Resource[SyncTransport], owner: type) -> Callable[A, Iterator[bytes]]: ...
    @overload
    def __get__(self, resource: Resource[AsyncTransport], owner: type) -> Callable[A, AsyncIterator[bytes]]: ...

    def __get__(self, resource: Any, owner: type) -> Any:
        return self if resource is None else _bound(self.describe, resource, _download)


class Pages(Generic[P, E]):
    """A list over pages: `for item in …` goes over all of them, `first()` is one page with all that it says."""

    def __init__(self, transport: SyncTransport, paged: Paged[P, E], kind: Any) -> None:
        self._transport, self._paged, self._kind = transport, paged, kind

    def first(self) -> P:
        """The first page."""
        return self._transport.send(self._paged.call, self._kind)  # type: ignore[no-any-return]

    def pages(self) -> Iterator[P]:
        """All pages."""
        call: Call[P] | None = self._paged.call
        while call is not None:
            page: P = self._transport.send(call, self._kind)
            yield page
            call = self._paged.behind(page)

    def __iter__(self) -> Iterator[E]:
        for page in self.pages():
            yield from page.results


class AsyncPages(Generic[P, E]):
    """A list over pages: `async for item in …` goes over all of them, `await ….first()` is one page."""

    def __init__(self, transport: AsyncTransport, paged: Paged[P, E], kind: Any) -> None:
        self._transport, self._paged, self._kind = transport, paged, kind

    async def first(self) -> P:
        """The first page."""
        return await self._transport.send(self._paged.call, self._kind)  # type: ignore[no-any-return]

    async def pages(self) -> AsyncIterator[P]:
        """All pages."""
        call: Call[P] | None = self._paged.call
        while call is not None:
            page: P = await self._transport.send(call, self._kind)
            yield page
            call = self._paged.behind(page)

    async def __aiter__(self) -> AsyncIterator[E]:
        async for page in self.pages():
            for item in page.results:
                yield item


def _bound(describe: Callable[..., Any], resource: Resource[Any], act: Callable[[Any, Any], S]) -> Callable[..., S]:
    def method(*arguments: Any, **options: Any) -> S:
        return act(resource._transport, describe(resource, *arguments, **options))

    return update_wrapper(method, describe)


def _follow(transport: Any, streamed: Streamed[Any]) -> Any:
    return transport.follow(streamed)


def _download(transport: Any, taken: Download) -> Any:
    return transport.download(taken.call)
