"""Settings of who may call, from where and how much, and of erasing what is remembered of them."""

from pydantic import Field, SecretStr, model_validator

from memory.values.access.identity import APP_PATTERN, DEFAULT_APP

from .section import Section


class LimitArgs(Section):
    """How much one user may ask for, and how much a request may hold."""

    requests_per_minute: float = Field(
        default=600.0,
        ge=0,
        allow_inf_nan=False,
        description="Requests a minute that a user may send, and a credential without naming a user; 0: any number.",
    )
    key_requests_per_minute: float = Field(
        default=6_000.0,
        ge=0,
        allow_inf_nan=False,
        description="Requests a minute with one API key, for all users together; 0: any number. A key that is "
        "bound to a user has the limit of the user.",
    )
    wrong_credentials_per_minute: float = Field(
        default=30.0,
        ge=0,
        allow_inf_nan=False,
        description="Requests a minute with a wrong credential from one client address that get 401; further ones get "
        "429. A valid credential is accepted meanwhile; 0: any number.",
    )
    burst: int = Field(default=120, ge=1, description="Requests of a user, a key or an address that may come at once.")
    concurrent_requests: int = Field(
        default=64,
        ge=1,
        description="Requests that one ingress replica answers at a time; more get 429, before the queues behind it "
        "are longer than the deadlines.",
    )
    body_bytes: int = Field(default=1_048_576, ge=1024, description="Bytes of a request body; larger ones get 413.")
    bulk_body_bytes: int = Field(
        default=16_777_216,
        ge=1024,
        description="Bytes of a body for the routes that take many texts at once: `/memories`, `/v1/embeddings`, "
        "`/v1/rerank`, `/v1/chat/completions`, `/v1/responses`, `/store`, and `add` and batches of mem0's clients.",
    )
    file_body_bytes: int = Field(
        default=67_108_864,
        ge=1024,
        description="Bytes of a body for `/knowledge/base/{corpus_id}/ingest`, all of its files together.",
    )
    import_body_bytes: int = Field(
        default=1_073_741_824,
        ge=1024,
        description="Bytes of the file that `/import` takes; it is kept on disk meanwhile.",
    )
    body_timeout_s: float = Field(
        default=30.0,
        gt=0,
        description="Seconds in which all of a request body must have come, or each MiB of an import; slower ones get "
        "408.",
    )


class HttpArgs(Section):
    """From where the service may be used, and with how many connections."""

    hosts: tuple[str, ...] = Field(
        default=("localhost", "127.0.0.1", "::1"),
        description="Names and addresses of the service, as clients have them in `Host`; `*.example.org` for all below "
        "a name, `*` for any.",
    )
    sites: tuple[str, ...] = Field(
        default=(),
        description="Origins of other sites whose pages may change something, such as `https://chat.example.org`.",
    )
    connections: int = Field(
        default=4096, ge=64, description="Connections of all clients together; a further one is refused at once."
    )
    connections_per_client: int = Field(
        default=512,
        ge=0,
        description="Connections from one address; a further one is refused at once. 0: any number, where all clients "
        "come through one proxy.",
    )


class AuthArgs(Section):
    """Who may call (docs/how-to/api-keys.md)."""

    required: bool = Field(
        default=False,
        description="Refuse requests without a valid credential. Without this whoever reaches the port reads and "
        "changes everything, and the service listens on loopback alone.",
    )
    open_on_network: bool = Field(
        default=False,
        description="Listen on other addresses although no credential is required, because something else keeps "
        "others away.",
    )
    admin_key: SecretStr | None = Field(
        default=None,
        min_length=32,
        description="Accepted as a key of scope `admin`, for a first start without a command line; at least 32 random "
        "characters.",
    )
    key_cache_s: float = Field(
        default=5.0, ge=0, le=300, description="Seconds after which every replica refuses a key that was revoked."
    )
    user_headers: tuple[str, ...] = Field(
        default=(),
        description="Headers besides X-Jiyi-User that name the user where the credential belongs to none, best first; "
        "such as X-OpenWebUI-User-Id. Whatever stands in front must not let clients set them.",
    )
    session_headers: tuple[str, ...] = Field(
        default=("X-OpenWebUI-Chat-Id", "x-sm-conversation-id"),
        description="Headers besides X-Jiyi-Session that name the session, best first; read by the OpenAI-compatible "
        "endpoints. A session is one of the user, whom they do not name.",
    )


class OidcArgs(Section):
    """Tokens of an identity provider (OpenID Connect), besides API keys; each names one user."""

    issuer: str | None = Field(
        default=None,
        pattern=r"^(https://|http://(localhost|127\.0\.0\.1|\[::1\])[:/])",
        description="URL of the provider, exactly as it calls itself.",
    )
    audience: str | None = Field(
        default=None, min_length=1, description="The audience that a token must have; needed with `issuer`."
    )
    claim: str = Field(
        default="sub",
        min_length=1,
        description="The claim that is the user. `email` is accepted only where the provider says it is verified.",
    )
    app: str = Field(default=DEFAULT_APP, pattern=APP_PATTERN, description="The app that the users belong to.")
    jwks_cache_s: float = Field(
        default=600.0, ge=30, description="Seconds after which the provider's keys are fetched again."
    )

    @model_validator(mode="after")
    def _audience_with_issuer(self) -> "OidcArgs":
        if self.issuer is not None and self.audience is None:
            raise ValueError(
                "oidc.audience (JIYI_OIDC__AUDIENCE): needed with oidc.issuer, else a token for any other service of "
                "the provider would be accepted"
            )
        return self


class ErasureArgs(Section):
    """Erasing what is remembered of a user."""

    key: SecretStr | None = Field(
        default=None,
        min_length=32,
        description="Makes the digests of ids in receipts; at least 32 random characters. By default a key is made "
        "once and kept in the home (`erasure.key`). Set it where the home is not kept, and never change it: restored "
        "backups are compared with old digests.",
    )
    settle_s: float = Field(
        default=3.0,
        ge=0,
        le=60,
        description="Seconds between a request to erase a user and its beginning, in which all processes learn of it "
        "and requests under way end.",
    )
