"""API keys: created, checked, rotated and revoked. The secret is shown once; only its hash is stored."""

import asyncio
import contextlib
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from cachetools import LRUCache

from ..ports.stores.keys import KeyStore
from ..values.access.identity import DEFAULT_APP, KEY_PREFIX, ApiKey, KeyScope
from ..values.base import utc_now
from ..values.errors import Conflict, InvalidField, NotFound, Unauthenticated, Unavailable
from .caller import Caller

_SECRET = re.compile(rf"{KEY_PREFIX}_([0-9a-f]{{16}})_[A-Za-z0-9_-]{{43}}")
_CACHED_KEYS = 10_000
_STALE = timedelta(minutes=15)
"""How long a key that was valid is accepted while the store is unavailable."""
_ATTEMPTS = 5
SETTINGS_KEY = "settings"
"""The id of the admin key that the settings give."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class IssuedKey:
    """A key with its secret, which cannot be had again."""

    key: ApiKey
    secret: str = field(repr=False)


class ApiKeys:
    """Keys of all apps.

    A key that was looked up is remembered for `fresh_s`, so that a revoked key is refused everywhere after that time,
    and at once by the process that revoked it. Uses are noted in memory and written once in `use_interval_s`.

    Args:
        store: Where the keys are.
        admin_secret: A further key of scope `admin`, which the settings give; it cannot be revoked here.
        fresh_s: Seconds for which a key is not looked up again.
        use_interval_s: Seconds between two writes of the times of last use.
        now: The clock.
    """

    def __init__(
        self,
        store: KeyStore,
        *,
        admin_secret: str | None = None,
        fresh_s: float = 5.0,
        use_interval_s: float = 60.0,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._store = store
        self._admin_hash = None if admin_secret is None else _hash(admin_secret)
        self._fresh = timedelta(seconds=fresh_s)
        self._use_interval_s = use_interval_s
        self._now = now
        self._known: LRUCache[str, tuple[ApiKey, datetime]] = LRUCache(_CACHED_KEYS)
        self._uses: dict[str, datetime] = {}
        self._writer: asyncio.Task[None] | None = None

    async def create(
        self,
        name: str,
        *,
        scope: KeyScope,
        app: str = DEFAULT_APP,
        user: str | None = None,
        expires_at: datetime | None = None,
    ) -> IssuedKey:
        """Makes a key.

        Raises:
            InvalidField: A key of scope `user` without a user, another one with a user, or an end in the past.
        """
        now = self._now()
        if (user is not None) != (scope is KeyScope.USER):
            problem = "a key of scope user needs one" if user is None else f"a key of scope {scope.value} has none"
            raise InvalidField(f"user: {problem}", field="user", allowed="a user id, for scope user alone")
        if expires_at is not None and expires_at <= now:
            raise InvalidField("expires_at: is in the past", field="expires_at", allowed="a time in the future")
        key_id = secrets.token_hex(8)
        secret = _new_secret(key_id)
        key = ApiKey(
            key_id=key_id,
            name=name,
            scope=scope,
            app=app,
            user=user,
            secret_hash=_hash(secret),
            created_at=now,
            expires_at=expires_at,
        )
        await self._store.add(key)
        return IssuedKey(key, secret)

    async def get(self, key_id: str) -> ApiKey:
        """The key of this id, valid or not.

        Raises:
            NotFound: There is none.
        """
        key = await self._store.get(key_id)
        if key is None:
            raise NotFound(f"key_id: there is no key {key_id!r}")
        return key

    async def list(
        self, *, app: str | None = None, user: str | None = None, after: str | None = None, limit: int = 100
    ) -> "list[ApiKey]":
        """Keys of an app and a user, or of any, revoked ones too, in the order of their ids."""
        return await self._store.list(app=app, user=user, after=after, limit=limit)

    async def rotate(self, key_id: str, *, overlap_s: float = 0.0) -> IssuedKey:
        """Gives a key a new secret; its id, scope and user stay.

        Args:
            key_id: The key.
            overlap_s: Seconds for which the secret before is valid, too.

        Raises:
            NotFound: There is no such key.
            Conflict: It is revoked, or was changed at the same time.
        """
        key, now = await self.get(key_id), self._now()
        if key.revoked_at is not None:
            raise Conflict(f"the key {key_id} is revoked")
        secret = _new_secret(key_id)
        previous = {"previous_hash": key.secret_hash, "previous_until": now + timedelta(seconds=overlap_s)}
        if overlap_s <= 0:
            previous = {"previous_hash": None, "previous_until": None}
        rotated = await self._replace(key, secret_hash=_hash(secret), rotated_at=now, **previous)
        return IssuedKey(rotated, secret)

    async def revoke(self, key_id: str) -> ApiKey:
        """Ends a key for good; a key that is revoked already stays as it is.

        Raises:
            NotFound: There is no such key.
            Conflict: It was changed at the same time.
        """
        for _ in range(_ATTEMPTS):  # a rotation at the same time must not keep the key alive
            key = await self.get(key_id)
            if key.revoked_at is not None:
                return key
            with contextlib.suppress(Conflict):
                return await self._replace(key, revoked_at=self._now())
        raise Conflict(f"the key {key_id} was changed at the same time, again and again")

    def forget_user(self, *, app: str, user: str) -> None:
        """Looks the keys of a user up again before they are accepted here."""
        for key_id in [key_id for key_id, (key, _) in self._known.items() if (key.app, key.user) == (app, user)]:
            del self._known[key_id]
            self._uses.pop(key_id, None)

    def knows_form_of(self, secret: str) -> bool:
        """Whether a credential is meant to be an API key, valid or not; it may be a token of somebody else."""
        return secret.startswith(f"{KEY_PREFIX}_") or self._is_admin(_hash(secret))

    async def authenticate(self, secret: str) -> Caller:
        """What a secret proves.

        Raises:
            Unauthenticated: It is not that of a valid key; does not say why.
            StoreUnavailable: The key is not known here and cannot be looked up.
        """
        digest = _hash(secret)
        if self._is_admin(digest):
            return Caller(SETTINGS_KEY, KeyScope.ADMIN)
        form, now = _SECRET.fullmatch(secret), self._now()
        key = await self._find(form[1], now) if form else None
        if key is None or not _is_valid(key, digest, now):
            raise Unauthenticated("the API key is not valid")
        self._note_use(key.key_id, now)
        return Caller(key.key_id, key.scope, key.app, key.user)

    async def flush(self) -> None:
        """Writes the times of last use.

        Raises:
            Unavailable: The store is down; they are written later.
        """
        uses, self._uses = self._uses, {}
        try:
            if uses:
                await self._store.record_uses(uses)
        except BaseException:
            self._uses = uses | self._uses
            raise

    async def close(self) -> None:
        """Writes the times of last use, if the store is up."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        with contextlib.suppress(Unavailable):
            await self.flush()

    def _is_admin(self, digest: str) -> bool:
        return self._admin_hash is not None and hmac.compare_digest(digest, self._admin_hash)

    async def _find(self, key_id: str, now: datetime) -> ApiKey | None:
        known = self._known.get(key_id)
        if known is not None and now - known[1] < self._fresh:
            return known[0]
        try:
            key = await self._store.get(key_id)
        except Unavailable:
            if known is None or now - known[1] > _STALE:
                raise
            return known[0]
        if key is None:
            self._known.pop(key_id, None)
        else:
            self._known[key_id] = (key, now)
        return key

    async def _replace(self, key: ApiKey, **changes: object) -> ApiKey:
        changed = key.model_copy(update={**changes, "version": key.version + 1})
        if not await self._store.replace(changed):
            raise Conflict(f"the key {key.key_id} was changed at the same time")
        self._known.pop(key.key_id, None)
        return changed

    def _note_use(self, key_id: str, now: datetime) -> None:
        self._uses[key_id] = now
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write_later())

    async def _write_later(self) -> None:
        while self._uses:
            await asyncio.sleep(self._use_interval_s)
            try:
                await self.flush()
            except Unavailable as error:
                _log.warning("key_uses_postponed", error=error.message, pending=len(self._uses))


def _new_secret(key_id: str) -> str:
    return f"{KEY_PREFIX}_{key_id}_{secrets.token_urlsafe(32)}"


def _hash(secret: str) -> str:
    """A plain hash is enough: a secret has 256 random bits, so that nobody finds it by trying."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _is_valid(key: ApiKey, digest: str, now: datetime) -> bool:
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        return False
    if hmac.compare_digest(digest, key.secret_hash):
        return True
    return (
        key.previous_hash is not None
        and key.previous_until is not None
        and now < key.previous_until
        and hmac.compare_digest(digest, key.previous_hash)
    )
