"""What an erased user leaves in the files of the local session server."""

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

from storage.redis.client import RedisClient
from storage.redis.coordination import RedisRateLimiter
from storage.redis.server import LocalRedisServer
from storage.redis.sessions import RedisSessions


def files_with(folder: Path, word: str) -> list[str]:
    """Names of the files that hold ``word``. The server rewrites its log meanwhile: a file that went holds nothing."""
    found = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file() and word.encode() in path.read_bytes():
                found.append(path.name)
    return found


async def test_nothing_of_an_erased_user_is_left_in_any_file(tmp_path: Path, make: SimpleNamespace) -> None:
    server = LocalRedisServer(tmp_path)
    for round_ in range(2):  # the first leaves a dump, which the second start does not read
        server.start()
        redis = RedisClient(server.url, timeout_s=20)
        sessions = RedisSessions(redis)
        limiter = RedisRateLimiter(redis, requests_per_minute=1, burst=100)
        for user_id in ("ann-secret", "bob-kept"):
            await limiter.take(user_id=user_id)
            await sessions.append("s", user_id=user_id, turns=[make.turn(f"{user_id} says {round_}")])
        if round_ == 0:
            await redis.close()
            server.stop()
    await redis.commands.bgrewriteaof()  # the next one has to wait for this
    assert files_with(tmp_path, "ann-secret")
    assert await sessions.clear_user("ann-secret") == 1
    assert await sessions.purge()
    assert files_with(tmp_path, "ann-secret") == []
    assert files_with(tmp_path, "bob-kept")
    assert len((await sessions.load("s", user_id="bob-kept")).turns) == 2
    await redis.close()
    server.stop()
    assert files_with(tmp_path, "ann-secret") == []


async def test_nothing_of_a_forgotten_turn_is_left_in_any_file(tmp_path: Path, make: SimpleNamespace) -> None:
    server = LocalRedisServer(tmp_path)
    server.start()
    sessions = RedisSessions(server.url)
    turns = [make.turn("the secret", "1"), make.turn("the rest", "2")]
    await sessions.append("s", user_id="ann", turns=turns, deixis=["secret today"])
    assert await sessions.forget("s", user_id="ann", turn_ids=["1"])
    assert await sessions.purge()
    assert files_with(tmp_path, "secret") == []
    assert [turn.content for turn in (await sessions.load("s", user_id="ann")).turns] == ["the rest"]
    await sessions.close()
    server.stop()
    assert files_with(tmp_path, "secret") == []
