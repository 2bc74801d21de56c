"""Whose memory a request is about: the credential first, then the claims of the request in a fixed order."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..values.access.identity import DEFAULT_APP, KeyScope, credential_subject, stored_user
from ..values.errors import Forbidden

USER_ID = "user_id"
"""The field of our own routes. Unlike the fields of other formats it always means the person."""
_FIELDS = (USER_ID, "user", "safety_identifier")
"""Fields of bodies and queries that name the user, best first; all headers come before them."""
_PSEUDONYM = "safety_identifier"
"""A hash of the person: it never equals the user of a key, and does not contradict it."""


@dataclass(frozen=True)
class Claim:
    """A part of a request that names a user: a header or a field."""

    field: str
    user: str


@dataclass(frozen=True)
class Caller:
    """What a credential proves.

    Args:
        credential: Its id, for the logs: the id of a key, `oidc`, or `anonymous` where no credential is needed.
        scope: What it allows.
        app: The app that it belongs to.
        user: The only user that it may act for; None for any user of the app.
    """

    credential: str
    scope: KeyScope
    app: str = DEFAULT_APP
    user: str | None = None

    @property
    def subject(self) -> str:
        """The name under which its requests are counted: never that of a user."""
        return credential_subject(self.credential)


ANONYMOUS = Caller("anonymous", KeyScope.ADMIN)
"""Everybody, where the service asks for no credentials."""


@dataclass(frozen=True)
class Identity:
    """The caller of a request, the app that it acts in, and the users that its headers name, best first.

    `session` is the session that its headers name, where they do.

    Raises:
        Forbidden: The app is another one than that of the caller, who is no admin.
    """

    caller: Caller
    app: str = ""
    headers: tuple[Claim, ...] = ()
    app_field: str = "app"
    session: str | None = None

    def __post_init__(self) -> None:
        if not self.app:
            object.__setattr__(self, "app", self.caller.app)
        elif self.app != self.caller.app and self.caller.scope is not KeyScope.ADMIN:
            raise Forbidden(f"{self.app_field}: this credential belongs to another app", field=self.app_field)

    def user(self, fields: Iterable[Claim] = ()) -> str | None:
        """The stored id of the user that the request is about; None where nothing names one.

        The user of the credential always wins. Otherwise headers go before fields, and fields in the order `user_id`,
        `user`, `safety_identifier`. `user_id` may not contradict what wins.

        Args:
            fields: What the fields of the request claim, in any order.

        Raises:
            Forbidden: A claim contradicts the credential, or `user_id` another claim; names the field.
        """
        claims = [*self.headers, *sorted(fields, key=lambda claim: _FIELDS.index(claim.field))]
        bound = self.caller.user
        if bound is None and not claims:
            return None
        user = claims[0].user if bound is None else bound
        for claim in claims:
            binding = claim.field == USER_ID if bound is None else claim.field != _PSEUDONYM
            if binding and claim.user != user:
                winner = "this credential belongs to" if bound is not None else f"{claims[0].field} names"
                raise Forbidden(f"{claim.field}: {winner} another user", field=claim.field)
        return stored_user(self.app, user)

    def require(self, scope: KeyScope) -> None:
        """Refuses callers with a lesser scope.

        Raises:
            Forbidden: The credential has a lesser scope.
        """
        order = list(KeyScope)
        if order.index(self.caller.scope) < order.index(scope):
            raise Forbidden(f"this needs a credential of scope {scope.value}")
