"""`JiyiStore`: LangGraph's long-term store in a Jiyi service."""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)
from typing_extensions import override

from memory.items.filters import check_filter
from memory.items.texts import check_paths
from memory.values.errors import InvalidField
from memory.values.items import (
    WHOLE,
    FoundItem,
    GetItem,
    ItemOperation,
    ItemResult,
    ListNamespaces,
    PutItem,
    SearchItems,
    StoredItem,
)

from ..client.clients import DEFAULT_URL, AsyncClient
from .remote import RemoteItems

_WHOLE_VALUE: Mapping[str, Any] = {"fields": [WHOLE]}


class JiyiStore(BaseStore):
    """Keeps documents of a user, which a graph finds by namespace, by filter and by meaning.

    ```python
    store = JiyiStore(user_id="ann", index={"fields": ["text"]})
    store.put(("notes",), "tea", {"text": "Likes oolong, no milk."})
    store.search(("notes",), query="What does she drink?")
    ```

    The service embeds the texts with its own model. May be shared by threads and event loops; close it, or use it as a
    context.

    Args:
        url: Base URL of the service.
        user_id: Whose documents; not needed where the API key belongs to a user.
        api_key: An API key or token, where the service asks for one.
        index: `fields`: the paths of the texts by whose meaning a document is found, where a put names none; None
            where a document is found by meaning only if its put names some.
        ttl: `default_ttl` in minutes and `refresh_on_read`; what has expired is never given.
        patience_s: For how long a call is sent again while the service is away; 0 for one attempt.
        timeout_s: Seconds that one attempt may take.
        transport: In place of the network, for tests.

    Raises:
        ValueError: `index` or `ttl` asks for what the service does not do: a foreign embedder above all.
    """

    supports_ttl = True

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        user_id: str | None = None,
        api_key: str | None = None,
        index: Mapping[str, Any] | None = _WHOLE_VALUE,
        ttl: TTLConfig | None = None,
        patience_s: float = 10.0,
        timeout_s: float = 120.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._fields = _fields_of(index)
        self.ttl_config = _checked_ttl(ttl)
        client = AsyncClient(url, api_key=api_key, patience_s=patience_s, timeout_s=timeout_s, transport=transport)
        self._remote = RemoteItems("/store/batch", user_id=user_id, client=client)

    @override
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._remote.wait_for(self.abatch(ops))

    @override
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        operations = [self._operation(op) for op in ops]
        return [_result(result) for result in await self._remote.batch(operations)]

    def close(self) -> None:
        """Closes the connections."""
        self._remote.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _operation(self, op: Op) -> ItemOperation:
        validate_op_namespace(op)
        match op:
            case GetOp():
                return GetItem(namespace=tuple(op.namespace), key=op.key, refresh_ttl=op.refresh_ttl)
            case PutOp():
                index = self._fields if op.index is None else op.index
                if index is not False:
                    _check(lambda: check_paths(index))
                return PutItem(
                    namespace=tuple(op.namespace),
                    key=op.key,
                    value=None if op.value is None else dict(op.value),
                    index=False if index is False or not index else tuple(index),
                    ttl_minutes=op.ttl,
                )
            case SearchOp():
                conditions = dict(op.filter or {})
                _check(lambda: check_filter(conditions))
                return SearchItems(
                    prefix=tuple(op.namespace_prefix),
                    filter=conditions or None,
                    query=op.query,
                    limit=op.limit,
                    offset=op.offset,
                    refresh_ttl=op.refresh_ttl,
                )
            case ListNamespacesOp():
                paths = [(found.match_type, tuple(found.path)) for found in op.match_conditions or ()]
                if len(dict(paths)) < len(paths):
                    raise ValueError("list_namespaces: one prefix and one suffix at most")
                wanted = dict(paths)
                return ListNamespaces(
                    prefix=wanted.get("prefix", ()),
                    suffix=wanted.get("suffix", ()),
                    max_depth=op.max_depth,
                    limit=op.limit,
                    offset=op.offset,
                )
        raise ValueError(f"Unknown operation type: {type(op)}")


def _fields_of(index: Mapping[str, Any] | None) -> Sequence[str]:
    given = dict(index or {})
    if given.get("embed") is not None or given.get("dims") is not None:
        raise ValueError(
            "index: Jiyi embeds with the service's own model, so `embed` and `dims` cannot be set here; leave "
            "them out, and choose the model in the service's settings"
        )
    if unknown := sorted(given.keys() - {"embed", "dims", "fields"}):
        raise ValueError(f"index: {', '.join(unknown)} is unknown; there is `fields`")
    fields: Sequence[str] = () if index is None else given.get("fields") or (WHOLE,)
    _check(lambda: check_paths(fields))
    return fields


def _checked_ttl(ttl: TTLConfig | None) -> TTLConfig | None:
    if ttl is not None and ttl.get("omit_expired") is False:
        raise ValueError("ttl: what has expired is never given, so `omit_expired` cannot be false")
    return ttl


def _check(check: Any) -> None:
    """Refuses as LangGraph's own stores do.

    Raises:
        ValueError: The check refuses.
    """
    try:
        check()
    except InvalidField as error:
        raise ValueError(f"{error.message}; allowed: {error.allowed}") from error


def _result(result: ItemResult) -> Result:
    if isinstance(result, StoredItem):
        return Item(**_members(result))
    if isinstance(result, tuple):
        found = [entry for entry in result if isinstance(entry, FoundItem)]
        namespaces = [entry for entry in result if isinstance(entry, tuple)]
        return namespaces or [SearchItem(**_members(entry.item), score=entry.score) for entry in found]
    return None


def _members(item: StoredItem) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("value", "key", "namespace", "created_at", "updated_at")}
