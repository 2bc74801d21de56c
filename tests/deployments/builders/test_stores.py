"""The stores of a process (`deployments.builders.storage.stores`)."""

import asyncio
from pathlib import Path

from pydantic import SecretStr

from deployments.builders.storage.stores import open_short_lived
from deployments.config.settings import AppArgs
from storage.inmemory.record import InMemoryRecord
from storage.redis.server import LocalRedisServer


async def test_rate_limits_that_nobody_uses_are_whole_again_when_redis_is(tmp_path: Path) -> None:
    server = LocalRedisServer(tmp_path, check_interval_s=60)
    server.start()
    url = server.url
    server.stop()
    short_lived = open_short_lived(AppArgs(home=tmp_path, redis_url=SecretStr(url)), record=InMemoryRecord())
    assert short_lived.limiter is not None
    await short_lived.limiter.take(user_id="a")
    assert short_lived.limiter.figures()["status"] == "degraded"
    server.start()
    async with asyncio.timeout(20):
        while "status" in short_lived.limiter.figures():
            await asyncio.sleep(0.1)
    await short_lived.close()
    server.stop()
