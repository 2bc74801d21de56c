"""Lists of namespaces: wildcards, cut to a depth."""

from collections.abc import Iterable, Sequence

from ..values.items import ListNamespaces

_ANY = "*"


def select_namespaces(namespaces: Iterable[tuple[str, ...]], asked: ListNamespaces) -> tuple[tuple[str, ...], ...]:
    """The namespaces that are asked for, each once, in the order of their labels."""
    found = {
        labels[: asked.max_depth]
        for labels in namespaces
        if _begins(labels, asked.prefix) and _begins(labels[::-1], asked.suffix[::-1])
    }
    return tuple(sorted(found)[asked.offset : asked.offset + asked.limit])


def _begins(labels: Sequence[str], pattern: Sequence[str]) -> bool:
    return len(labels) >= len(pattern) and all(
        wanted in (_ANY, label) for label, wanted in zip(labels, pattern, strict=False)
    )
