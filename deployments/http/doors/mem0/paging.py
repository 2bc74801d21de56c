"""Pages as mem0 shows them."""

from collections.abc import Sequence
from typing import Any

from fastapi import Request


def paged(request: Request, items: Sequence[Any], *, number: int, size: int) -> dict[str, Any]:
    """A page of items, with their number and the URLs of the pages beside it.

    Args:
        request: The request for the page, whose URL the others are made of.
        items: All items.
        number: The page, counted from 1.
        size: Items of a page.
    """

    def url(other: int) -> str:
        return str(request.url.include_query_params(page=other, page_size=size))

    return {
        "count": len(items),
        "next": url(number + 1) if number * size < len(items) else None,
        "previous": url(number - 1) if number > 1 else None,
        "results": items[(number - 1) * size : number * size],
    }
