"""What every system of record does with API keys (`memory.ports.stores.keys.KeyStore`)."""

from types import SimpleNamespace
from typing import Any

import pytest

from memory.ports.stores.record import SystemOfRecord
from memory.values.access.identity import ApiKey, KeyScope

CRAFTED = ["ann", "臺灣", "é", "e\u0301", "' OR 1=1 --", "%", "\u241f", "a" * 128]


def _key(key_id: str, make: SimpleNamespace, **fields: Any) -> ApiKey:
    defaults: dict[str, Any] = {"name": "key", "scope": KeyScope.APP, "secret_hash": "0" * 64, "created_at": make.NOON}
    return ApiKey(key_id=key_id, **defaults | fields)


class TestKeys:
    async def test_a_key_comes_back_as_it_was_added(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        key = _key(
            "k1",
            make,
            name="後端",
            scope=KeyScope.USER,
            app="shop",
            user="安",
            previous_hash="1" * 64,
            previous_until=make.at(1.5),
            expires_at=make.at(9),
        )
        await record.keys.add(key)
        assert await record.keys.get("k1") == key
        assert await record.keys.get("k2") is None
        assert await record.keys.get("K1") is None

    async def test_keys_are_listed_by_id_in_pages(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        for name in ("b", "a", "d", "c"):
            await record.keys.add(_key(name, make))
        first = await record.keys.list(limit=3)
        assert [key.key_id for key in first] == ["a", "b", "c"]
        assert [key.key_id for key in await record.keys.list(after="c", limit=3)] == ["d"]
        assert await record.keys.list(limit=0) == []

    @pytest.mark.parametrize("user", CRAFTED)
    async def test_a_list_is_of_one_app_and_user_exactly(
        self, record: SystemOfRecord, make: SimpleNamespace, user: str
    ) -> None:
        for number, name in enumerate(CRAFTED):
            for app in ("shop", "desk"):
                await record.keys.add(_key(f"{app}{number}", make, scope=KeyScope.USER, app=app, user=name))
        await record.keys.add(_key("of the app", make, app="shop"))
        [found] = await record.keys.list(app="shop", user=user, limit=99)
        assert (found.app, found.user) == ("shop", user)
        assert {key.app for key in await record.keys.list(user=user, limit=99)} == {"shop", "desk"}
        assert len(await record.keys.list(app="shop", limit=99)) == len(CRAFTED) + 1

    async def test_a_key_is_replaced_only_where_nobody_changed_it_meanwhile(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        await record.keys.add(key := _key("k", make))
        revoked = key.model_copy(update={"revoked_at": make.at(1), "version": 2})
        rotated = key.model_copy(update={"secret_hash": "2" * 64, "version": 2})
        assert await record.keys.replace(revoked)
        assert not await record.keys.replace(rotated)
        assert await record.keys.get("k") == revoked
        assert await record.keys.replace(revoked.model_copy(update={"name": "new", "version": 3}))
        assert not await record.keys.replace(_key("other", make, version=2))
        assert await record.keys.get("other") is None

    async def test_the_last_use_moves_forward_alone(self, record: SystemOfRecord, make: SimpleNamespace) -> None:
        await record.keys.add(key := _key("k", make))
        await record.keys.add(_key("unused", make))
        await record.keys.record_uses({"k": make.at(5.25), "gone": make.at(5)})
        await record.keys.record_uses({"k": make.at(3)})
        await record.keys.record_uses({})
        assert await record.keys.get("k") == key.model_copy(update={"last_used_at": make.at(5.25)})
        assert await record.keys.replace(key.model_copy(update={"name": "new", "version": 2}))
        found = await record.keys.list(limit=9)
        assert [(item.name, item.last_used_at) for item in found] == [("new", make.at(5.25)), ("key", None)]

    async def test_the_keys_of_a_user_are_deleted_and_no_others(
        self, record: SystemOfRecord, make: SimpleNamespace
    ) -> None:
        owners = {"own": ("shop", "ann"), "other": ("shop", "Ann"), "elsewhere": ("default", "ann")}
        for name, (app, user) in owners.items():
            await record.keys.add(_key(name, make, scope=KeyScope.USER, app=app, user=user))
        await record.keys.add(_key("backend", make, app="shop"))
        assert await record.keys.delete_of_user(app="shop", user="ann") == 1
        assert await record.keys.delete_of_user(app="shop", user="ann") == 0
        assert [key.key_id for key in await record.keys.list(limit=9)] == ["backend", "elsewhere", "other"]
