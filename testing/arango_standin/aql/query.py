"""Runs the queries of one database, in a stream transaction or in one of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..database.store import Database
from ..database.transactions import Transaction, Transactions
from .checks import QueryCheck, check_binds, check_form, modifies
from .execution import Execution
from .operations import compile_text


class Outcome(NamedTuple):
    """What a query gave.

    Attributes:
        values: The values of RETURN.
        extra: The reply's `extra`: warnings and statistics.
    """

    values: list[Any]
    extra: dict[str, Any]


def written_collections(query: str, binds: Any) -> frozenset[str]:
    """Names of the collections that a query writes."""
    parsed, _ = compile_text(query)
    values = check_binds(parsed, binds)
    return frozenset(node.name if node.name is not None else str(values[str(node.bind)]) for node in modifies(parsed))


def run(
    database: Database,
    transactions: Transactions,
    query: str,
    binds: Any,
    *,
    stream: Transaction | None = None,
    fail_on_warning: bool = False,
) -> Outcome:
    """Run a query.

    Args:
        stream: The stream transaction, or None for a transaction of the query's own.

    Raises:
        ServerError: Whatever is wrong with it; a transaction of its own then leaves nothing behind.
    """
    parsed, compiled = compile_text(query)
    values = check_binds(parsed, binds)
    transaction = stream if stream is not None else transactions.begin(None, None)
    try:
        execution = Execution(database, transaction, values, frozenset(), fail_on_warning=fail_on_warning)
        execution.declared = frozenset(execution.name_of(node) for node in parsed.collections)
        check_form(parsed)
        QueryCheck(execution).check(parsed)
        result = compiled(execution, {})
        if stream is None:
            transaction.commit()
    finally:
        if stream is None:
            transactions.forget(transaction)
    stats = {
        "writesExecuted": execution.writes_executed,
        "writesIgnored": execution.writes_ignored,
        "scannedFull": 0,
        "scannedIndex": 0,
        "filtered": 0,
        "httpRequests": 0,
        "executionTime": 0.0,
        "peakMemoryUsage": 0,
    }
    return Outcome(result, {"warnings": execution.warnings, "stats": stats})
