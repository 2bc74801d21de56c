"""Calls mem0's client: a call is a line of JSON on standard input, what came of it one on output."""

import asyncio
import inspect
import json
import sys
from typing import Any

from mem0 import AsyncMemoryClient, MemoryClient


async def main(kind: str, host: str, key: str) -> None:
    """Makes the client and carries out calls until there are no more."""
    made: Any = {"sync": MemoryClient, "async": AsyncMemoryClient}[kind]
    client = None
    for line in sys.stdin:
        call = json.loads(line)
        try:
            client = client or made(api_key=key, host=host)
            method: Any = client
            for name in call["method"].split("."):
                method = getattr(method, name)
            result = method(*call["args"], **call["named"])
            outcome = {"result": await result if inspect.isawaitable(result) else result}
        except Exception as error:  # noqa: BLE001  # the test judges it
            outcome = {"error": type(error).__name__, "message": str(error), "debug": getattr(error, "debug_info", {})}
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()


asyncio.run(main(*sys.argv[1:]))
