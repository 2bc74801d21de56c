"""API keys from their making to their end."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.identity.api_keys import ApiKeys, IssuedKey
from memory.values.access.identity import ApiKey, KeyScope
from memory.values.errors import Conflict, InvalidField, NotFound, StoreUnavailable, Unauthenticated
from storage.inmemory.keys import InMemoryKeys


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 23, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class WatchedKeys(InMemoryKeys):
    """Counts what is read and written, and may be away."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0
        self.away = False

    async def get(self, key_id: str) -> ApiKey | None:
        self.reads += 1
        if self.away:
            raise StoreUnavailable("gone", component="record")
        return await super().get(key_id)

    async def record_uses(self, uses: Any) -> None:
        if self.away:
            raise StoreUnavailable("gone", component="record")
        self.writes += 1
        await super().record_uses(uses)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> WatchedKeys:
    return WatchedKeys()


@pytest.fixture
def keys(store: WatchedKeys, clock: Clock) -> ApiKeys:
    return ApiKeys(store, admin_secret="a secret of the settings, long", use_interval_s=0, now=clock)


async def _is_valid(keys: ApiKeys, secret: str) -> bool:
    try:
        await keys.authenticate(secret)
    except Unauthenticated:
        return False
    return True


async def test_a_key_proves_its_scope_app_and_user(keys: ApiKeys) -> None:
    issued = await keys.create("phone", scope=KeyScope.USER, app="shop", user="ann")
    caller = await keys.authenticate(issued.secret)
    assert (caller.credential, caller.scope, caller.app, caller.user) == (issued.key.key_id, "user", "shop", "ann")
    assert issued.secret.startswith(f"{issued.key.prefix}_")
    await keys.close()


async def test_the_secret_is_stored_nowhere_and_shown_by_no_repr(keys: ApiKeys, store: WatchedKeys) -> None:
    issued = await keys.create("backend", scope=KeyScope.APP)
    hidden = issued.secret.removeprefix(issued.key.prefix).removeprefix("_")
    assert len(hidden) >= 43
    [stored] = await store.list(limit=9)
    assert hidden not in stored.model_dump_json()
    assert hidden not in repr(issued)


async def test_two_keys_have_nothing_in_common(keys: ApiKeys) -> None:
    issued = [await keys.create("k", scope=KeyScope.ADMIN) for _ in range(200)]
    assert len({one.secret for one in issued}) == len({one.key.key_id for one in issued}) == 200


@pytest.mark.parametrize("change", ["", "x", "jiyi_", "Bearer", "\ud800", "jiyi_0_0"])
async def test_anything_else_is_refused(keys: ApiKeys, change: str) -> None:
    issued = await keys.create("k", scope=KeyScope.APP)
    other = await keys.create("k", scope=KeyScope.ADMIN)
    swapped = f"{other.key.prefix}_{issued.secret.split('_', 2)[2]}"
    for secret in (change, issued.secret[:-1], issued.secret + "a", issued.secret.upper(), issued.key.prefix, swapped):
        assert not await _is_valid(keys, secret)


async def test_a_revoked_key_is_refused_at_once_and_stays_revoked(keys: ApiKeys) -> None:
    issued = await keys.create("k", scope=KeyScope.APP)
    assert await _is_valid(keys, issued.secret)
    revoked = await keys.revoke(issued.key.key_id)
    assert not await _is_valid(keys, issued.secret)
    assert await keys.revoke(issued.key.key_id) == revoked
    with pytest.raises(Conflict):
        await keys.rotate(issued.key.key_id)
    await keys.close()


async def test_another_process_refuses_a_revoked_key_when_it_looks_again(
    keys: ApiKeys, store: WatchedKeys, clock: Clock
) -> None:
    other = ApiKeys(store, fresh_s=5, now=clock)
    issued = await keys.create("k", scope=KeyScope.APP)
    assert await _is_valid(other, issued.secret)
    await keys.revoke(issued.key.key_id)
    clock.pass_s(5)
    assert not await _is_valid(other, issued.secret)
    await other.close()


async def test_a_rotated_key_keeps_its_id_and_its_old_secret_for_as_long_as_said(keys: ApiKeys, clock: Clock) -> None:
    first = await keys.create("k", scope=KeyScope.USER, user="ann")
    second = await keys.rotate(first.key.key_id, overlap_s=60)
    assert second.key.key_id == first.key.key_id
    assert await _is_valid(keys, first.secret)
    assert await _is_valid(keys, second.secret)
    clock.pass_s(60)
    assert not await _is_valid(keys, first.secret)
    third = await keys.rotate(first.key.key_id)
    assert not await _is_valid(keys, second.secret)
    assert await _is_valid(keys, third.secret)
    await keys.close()


async def test_a_key_ends_when_it_expires(keys: ApiKeys, clock: Clock) -> None:
    issued = await keys.create("k", scope=KeyScope.APP, expires_at=clock.now + timedelta(seconds=1))
    assert await _is_valid(keys, issued.secret)
    clock.pass_s(1)
    assert not await _is_valid(keys, issued.secret)
    with pytest.raises(InvalidField):
        await keys.create("k", scope=KeyScope.APP, expires_at=clock.now)
    await keys.close()


async def test_a_user_belongs_to_keys_of_scope_user_alone(keys: ApiKeys) -> None:
    with pytest.raises(InvalidField):
        await keys.create("k", scope=KeyScope.USER)
    with pytest.raises(InvalidField):
        await keys.create("k", scope=KeyScope.ADMIN, user="ann")


async def test_the_settings_may_give_an_admin_key(keys: ApiKeys, store: WatchedKeys) -> None:
    caller = await keys.authenticate("a secret of the settings, long")
    assert (caller.credential, caller.scope) == ("settings", KeyScope.ADMIN)
    assert not await _is_valid(ApiKeys(store), "a secret of the settings, long")


async def test_a_thousand_requests_read_and_write_the_store_once(store: WatchedKeys, clock: Clock) -> None:
    keys = ApiKeys(store, now=clock)
    issued = await keys.create("k", scope=KeyScope.APP)
    for _ in range(1000):
        await keys.authenticate(issued.secret)
    clock.pass_s(1)
    await keys.authenticate(issued.secret)
    await keys.close()
    assert (store.reads, store.writes) == (1, 1)
    assert (await keys.get(issued.key.key_id)).last_used_at == clock.now


async def test_last_uses_are_written_in_the_background_and_again_after_an_outage(
    keys: ApiKeys, store: WatchedKeys, clock: Clock
) -> None:
    issued = await keys.create("k", scope=KeyScope.APP)
    await keys.authenticate(issued.secret)
    store.away = True
    await asyncio.sleep(0.01)
    store.away = False
    async with asyncio.timeout(60):
        while (await keys.get(issued.key.key_id)).last_used_at is None:
            await asyncio.sleep(0.001)
    await keys.close()


async def test_a_known_key_is_accepted_while_the_store_is_away_for_a_while(
    keys: ApiKeys, store: WatchedKeys, clock: Clock
) -> None:
    known = await keys.create("k", scope=KeyScope.APP)
    unknown = await keys.create("k", scope=KeyScope.APP)
    await keys.authenticate(known.secret)
    store.away = True
    clock.pass_s(600)
    assert await _is_valid(keys, known.secret)
    with pytest.raises(StoreUnavailable):
        await keys.authenticate(unknown.secret)
    clock.pass_s(600)
    with pytest.raises(StoreUnavailable):
        await keys.authenticate(known.secret)
    await keys.close()


@pytest.mark.parametrize("order", [1, -1])
async def test_no_rotation_at_the_same_time_keeps_a_revoked_key_alive(keys: ApiKeys, order: int) -> None:
    issued = await keys.create("k", scope=KeyScope.APP)
    key_id = issued.key.key_id
    acts = [keys.revoke(key_id), *(keys.rotate(key_id) for _ in range(3))]
    results = await asyncio.gather(*acts[::order], return_exceptions=True)
    assert not await _is_valid(keys, issued.secret)
    for result in results:
        assert isinstance(result, Conflict | ApiKey | IssuedKey)
        assert not isinstance(result, IssuedKey) or not await _is_valid(keys, result.secret)
    assert (await keys.get(key_id)).revoked_at is not None


async def test_an_unknown_key_is_named_in_the_refusal(keys: ApiKeys) -> None:
    for act in (keys.get, keys.revoke, keys.rotate):
        with pytest.raises(NotFound, match="'none'"):
            await act("none")
