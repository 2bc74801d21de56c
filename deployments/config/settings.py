"""All settings of the service: one typed object, from `args:` of serve_config.yaml, then the environment; read once.

`jiyi config` prints them; the name of each is that of its variable: `embedder.threads` is `JIYI_EMBEDDER__THREADS`.
Secrets are `SecretStr`, which is all that hides them; they come from the environment or from files, see `secrets`.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NestedSecretsSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from typing_extensions import override

from memory.jobs.cron import NEVER, Schedule
from memory.values.errors import InvalidField
from memory.values.identity import APP_PATTERN, DEFAULT_APP
from storage.shared.encryption import SETTING, read_key

from .deployment_options import check_options
from .secrets import require_present, require_same, secret_values, secrets_folder, without_secrets

_OFF = BeforeValidator(lambda value: "off" if value is False else value)
_ON = BeforeValidator(lambda value: "on" if value is True else value)
"""YAML reads a bare `off` as false, and `on` as true."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EmbedderArgs(_Section):
    """The embedding path (DESIGN §5)."""

    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="Where it computes; `auto` takes CUDA where the cluster has a GPU."
    )
    gpus: float = Field(default=1.0, gt=0, le=1, description="Share of a GPU of one replica, where it computes on one.")
    threads: int | None = Field(
        default=None,
        ge=1,
        description="Torch threads of one replica, which asks Ray for as many cores. By default all cores of the "
        "largest machine, at most 8.",
    )
    batch_tokens: int | None = Field(
        default=None, ge=512, description="Padded tokens that one batch may hold. By default what suits the device."
    )
    max_waiting_tokens: int | None = Field(
        default=None,
        ge=1024,
        description="Tokens that may wait in one replica, for each priority, before callers get 429. By default what "
        "suits the device.",
    )
    min_replicas: int = Field(default=1, ge=1, description="Lower bound of scaling.")
    max_replicas: int | None = Field(
        default=None,
        ge=1,
        description="Upper bound of scaling. By default as many as the machines of the cluster have cores (and GPUs) "
        "for; Serve waits for more without end, unless the cluster itself grows.",
    )
    target_wait_s: float = Field(
        default=2.0,
        gt=0,
        description="Seconds that the tokens which wait now may take before a replica is added (DESIGN §2).",
    )
    tokens_per_s: float = Field(
        default=2000.0,
        gt=0,
        description="Tokens a second that one replica is expected to encode, until it has measured itself.",
    )
    downscale_delay_s: float = Field(
        default=60.0, ge=0, description="Seconds for which fewer replicas must have sufficed before some are ended."
    )

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "EmbedderArgs":
        if self.max_replicas is not None and self.max_replicas < self.min_replicas:
            raise ValueError(
                f"embedder.max_replicas: must be at least embedder.min_replicas, {self.min_replicas}; "
                f"given: {self.max_replicas}"
            )
        return self


class ModelArgs(_Section):
    """The trained models; each runs in the deployment that needs it (DESIGN §2, §5).

    Without the reader only known names, identifiers and words for times are found in a message, and every reply says
    `degraded: reader`.
    """

    reader: Annotated[Literal["auto", "on", "off"], _ON, _OFF] = Field(
        default="auto",
        description="Names, intents, references and facts of a message, in the Extractor. `auto` runs it where its "
        "weights are; with `on` missing weights show in `/health/detailed`.",
    )
    reranker: Annotated[str, _OFF] = Field(
        default="off",
        pattern=r"^(off|builtin|[\w.-]+/[\w.-]+)$",
        description="`off`, `builtin` (the weights that are shipped), or the name of a cross-encoder on the model hub.",
    )
    weights: Path | None = Field(
        default=None, description="Folder with the weight files. By default those that are shipped."
    )
    device: Literal["cpu", "cuda"] = Field(
        default="cpu",
        description="`cuda` gives each of these deployments `gpus` of a GPU and computes in bf16 there (not run yet).",
    )
    gpus: float = Field(default=0.2, gt=0, le=1, description="Share of a GPU of one replica.")
    threads: int | None = Field(
        default=None,
        ge=1,
        description="Torch threads of one replica. By default half of the machine's cores, since the Embedder computes "
        "beside it.",
    )
    replicas: int = Field(default=1, ge=1, description="Replicas of each of these deployments.")
    max_wait_s: float = Field(
        default=5.0,
        gt=0,
        description="Seconds that a message may have to wait for the reader; where it would be longer, it is refused "
        "(429) and told when to come back.",
    )


class LearnerArgs(_Section):
    """How turns are learned in the background."""

    users_at_once: int = Field(
        default=4,
        ge=1,
        le=64,
        description="Users learned at the same time, so that a slow one does not hold up others.",
    )


class ReembeddingArgs(_Section):
    """Embedding much at once, beside what serves people: everything with another model, the index of `jiyi index
    rebuild`, a corpus that was imported (DESIGN §8, docs/how-to/re-embedding.md).
    """

    actors: int = Field(
        default=1, ge=1, description="Encoders in the pool, each with the model's weights in its memory."
    )
    threads: int | None = Field(
        default=None, ge=1, description="Torch threads of one encoder. By default half of the machine's cores."
    )
    gpus: float = Field(default=0, ge=0, le=1, description="Share of a GPU of one encoder.")
    niceness: int = Field(
        default=10,
        ge=0,
        le=19,
        description="How far each encoder gives way to other processes for the CPU: from 0, not at all, to 19.",
    )
    backlog: int = Field(
        default=0,
        ge=0,
        description="Number of turns and items waiting to be learned and indexed from which on the pool embeds them in "
        "place of the Embedder, which serves people; 0: never. Worth it where the pool has cores or GPUs of its own.",
    )


class DeadlineArgs(_Section):
    """Seconds that a caller inside the graph waits for each part; a part that takes longer counts as down."""

    embedder: float = Field(default=300.0, gt=0, description="Seconds; as long as a full queue takes on a CPU.")
    query_encode: float = Field(
        default=2.0,
        gt=0,
        description="Seconds for the one short text that a turn needs encoded; below the deadlines of those that wait "
        "for it, so that a turn goes on without vectors while the Embedder is away.",
    )
    record: float = Field(default=5.0, gt=0, description="Seconds for a call of the embedded system of record.")
    vectors: float = Field(default=4.0, gt=0, description="Seconds for a call of the vector index.")
    extractor: float = Field(
        default=15.0,
        gt=0,
        description="Seconds for the reading of a message, with the time that it waits (`models.max_wait_s`); a long "
        "text has a second more for every 200 characters.",
    )
    extractor_away: float = Field(
        default=3.0,
        gt=0,
        description="Seconds that a message waits for the Extractor while it is being restarted; then the turn goes on "
        "without it.",
    )
    extractor_batch: float = Field(
        default=60.0, gt=0, description="Seconds for the learner, which has many texts read in one call."
    )
    resolver: float = Field(
        default=3.0, gt=0, description="Seconds until what was read of a message is made into resolutions."
    )
    retriever: float = Field(default=8.0, gt=0, description="Seconds for a search.")
    reranker: float = Field(default=4.0, gt=0, description="Seconds for the scores of a list of passages.")
    learner: float = Field(default=60.0, gt=0, description="Seconds for callers that wait until a message is learned.")


class QdrantArgs(_Section):
    """The vector index, where `stores` is `servers`."""

    url: str = Field(default="http://127.0.0.1:6333", min_length=1, description="URL of the Qdrant server.")
    api_key: SecretStr | None = Field(default=None, description="Its API key, where it asks for one.")
    quantisation: Literal["int8"] | None = Field(
        default=None, description="`int8` keeps a quarter of each vector in memory and scores the best again in full."
    )


class ArangoArgs(_Section):
    """The system of record, where `stores` is `servers`."""

    url: str = Field(default="http://127.0.0.1:8529", min_length=1, description="URL of the ArangoDB server.")
    database: str = Field(default="jiyi", min_length=1, description="Name of the database.")
    username: str = Field(default="root", min_length=1, description="Who may read and write it.")
    password: SecretStr = Field(default=SecretStr(""), description="The password of `username`.")
    deadline_s: float = Field(
        default=2.0,
        gt=1.0,
        description="Seconds that a call may take.",
    )


class LimitArgs(_Section):
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
        description="Bytes of a body for the routes that take many texts at once, `/memories` and `/v1/embeddings`.",
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


class HttpArgs(_Section):
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


class AuthArgs(_Section):
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


class OidcArgs(_Section):
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


class TypedMemoryArgs(_Section):
    """Typed memories (001)."""

    conflict_lower: float = Field(
        default=0.85,
        ge=-1,
        le=1,
        description="From this cosine on two values contradict each other (001 §3.3), for a model without calibrated "
        "bands of its own.",
    )
    conflict_upper: float = Field(
        default=1.0, ge=-1, le=1, description="Up to this cosine two values contradict each other."
    )
    many_valued_types: tuple[str, ...] = Field(
        default=(),
        description="Types of which several values hold at once (allergies, say): a surer value never replaces another "
        "by itself, the two are put in review.",
    )
    model: str | None = Field(
        default=None,
        description="Encodes typed memories alone, into a collection of its own, and stays when the model of all else "
        "changes; 001 §2.2 has all-mpnet-base-v2. By default the model of all else. After a change of this setting "
        "they are indexed again by themselves.",
    )
    access_flush_s: float = Field(
        default=30.0, gt=0, description="Seconds for which accesses are counted in memory before they are written."
    )


class ErasureArgs(_Section):
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


class ReviewArgs(_Section):
    """The review of what is remembered (001 §4); the thresholds are explained in `memory.governance.review`."""

    schedule: str = Field(
        default="0 2 * * 0",
        description="When everybody's memory is reviewed, as cron writes it; `never`: by command alone.",
    )
    timezone: str = Field(default="UTC", description="Time zone of the schedule, as in `Asia/Taipei`.")
    archive_max_access: int = Field(default=3, ge=0, description="A memory that was used at most so often …")
    archive_after_days: float = Field(
        default=90, gt=0, description="… and was not created, said or retrieved for so many days is archived."
    )
    stale_after_days: float = Field(default=180, gt=0, description="A memory that was not said for so many days …")
    still_accessed_within_days: float = Field(
        default=90, gt=0, description="… and yet retrieved within so many is put in review."
    )
    keep_above_access: int = Field(
        default=10, ge=0, description="A memory that was used more often than this is never archived."
    )

    @model_validator(mode="after")
    def _schedule_is_valid(self) -> "ReviewArgs":
        if self.schedule != NEVER:
            try:
                Schedule.parse(self.schedule, timezone=self.timezone)
            except InvalidField as error:
                raise ValueError(f"review.{error.field}: {error.message}") from error
        return self


class AppArgs(BaseSettings):
    """What `deployments.app:build_app` takes; checked before anything starts."""

    model_config = SettingsConfigDict(
        env_prefix="JIYI_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        env_ignore_empty=True,
        hide_input_in_errors=True,  # of every section, too: an error may be about a secret
    )

    home: Path = Field(default=Path("~/.jiyi"), description="The one folder that holds all data, and the logs.")
    cache: Path = Field(
        default=Path("~/.cache/jiyi"), description="Where prepared model weights are kept, shared by all homes."
    )
    model: str = Field(
        default="multilingual-e5-small",
        min_length=1,
        description="Id in the model catalogue, or a name on the model hub.",
    )
    stores: Literal["embedded", "servers"] = Field(
        default="embedded",
        description="`embedded` keeps everything in `home`; `servers` uses Qdrant, ArangoDB and Redis "
        "(deploy/compose.yaml).",
    )
    redis_url: SecretStr | None = Field(
        default=None,
        description="A Redis-protocol server for sessions, limits and locks; the URL may hold a password. Without one, "
        "`embedded` starts a local server and `servers` looks on this machine at the usual port.",
    )
    encryption_key: SecretStr | None = Field(
        default=None,
        description="Encrypts the stores in `home`: 32 random bytes in base64, as `openssl rand -base64 32` prints. A "
        "home that has data is encrypted by `jiyi encryption on` first (docs/how-to/encryption.md).",
    )
    confidence_floor: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="Confidence below which a reference stays as the user wrote it (DESIGN §3).",
    )
    answer_min_cosine: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Cosine from which on a memory may answer a question with which it shares few words. By default "
        "what the model catalogue says of the live model.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least important log lines that are written."
    )
    ingress_replicas: int = Field(
        default=1, ge=1, description="Processes that answer HTTP; fixed, since HAProxy reloads whenever it changes."
    )
    qdrant: QdrantArgs = QdrantArgs()
    arango: ArangoArgs = ArangoArgs()
    limits: LimitArgs = LimitArgs()
    http: HttpArgs = HttpArgs()
    auth: AuthArgs = AuthArgs()
    oidc: OidcArgs = OidcArgs()
    aam: TypedMemoryArgs = TypedMemoryArgs()
    review: ReviewArgs = ReviewArgs()
    erasure: ErasureArgs = ErasureArgs()
    embedder: EmbedderArgs = EmbedderArgs()
    models: ModelArgs = ModelArgs()
    learner: LearnerArgs = LearnerArgs()
    reembedding: ReembeddingArgs = ReembeddingArgs()
    deadlines: DeadlineArgs = DeadlineArgs()
    deployments: dict[str, dict[str, Any]] = Field(
        default={},
        description="Ray Serve's own options of a deployment, by its name (`Embedder`, `Resolver`, …): num_replicas, "
        "ray_actor_options, max_ongoing_requests, autoscaling_config, health_check_period_s, … They go before what the "
        "other settings say; nested options are merged key by key.",
    )

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        folder = secrets_folder()
        if folder is None:
            return init_settings, env_settings
        files = NestedSecretsSettingsSource(file_secret_settings, folder, secrets_dir_missing="error")
        return init_settings, env_settings, files

    @model_validator(mode="after")
    def _waiting_ends_before_the_deadline(self) -> "AppArgs":
        if self.models.max_wait_s >= self.deadlines.extractor:
            raise ValueError(
                f"models.max_wait_s: must be less than deadlines.extractor, {self.deadlines.extractor:g}; "
                f"given: {self.models.max_wait_s:g}"
            )
        return self

    @field_validator("encryption_key")
    @classmethod
    def _key_is_one(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            try:
                read_key(value.get_secret_value())
            except ValueError as error:
                raise ValueError(f"{SETTING}: {error}") from None
        return value

    @field_validator("deployments")
    @classmethod
    def _options_are_serves(cls, value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for name, options in value.items():
            check_options(name, options)
        return value

    def to_send(self) -> dict[str, Any]:
        """What another process makes these settings of (`received`), as JSON values and without a secret.

        Raises:
            ValueError: A secret was given as an argument; the other process would not find it.
        """
        settings, secrets = without_secrets(self), secret_values(self)
        require_same(secrets, secret_values(type(self).model_validate(settings)))
        return {"settings": settings, "secrets": list(secrets)}

    @classmethod
    def received(cls, sent: dict[str, Any]) -> Self:
        """The settings that another process sent, with the secrets of this process.

        Raises:
            SecretsNotHere: A secret that is set there is not set here.
        """
        settings = cls.model_validate(sent["settings"])
        require_present(sent["secrets"], secret_values(settings))
        return settings

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without secrets: Ray stores what deployments are made with."""
        return type(self).received, (self.to_send(),)

    @property
    def data_home(self) -> Path:
        """`home` as an absolute path."""
        return self.home.expanduser().absolute()

    @property
    def model_cache(self) -> Path:
        """`cache` as an absolute path."""
        return self.cache.expanduser().absolute()

    @property
    def log_folder(self) -> Path:
        """Where the log files of all processes are."""
        return self.data_home / "logs"
