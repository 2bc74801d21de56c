"""All settings of the service: one typed object, from `args:` of serve_config.yaml, then the environment; read once.

`jiyi config` prints them; the name of each is that of its variable: `embedder.threads` is `JIYI_EMBEDDER__THREADS`.
Secrets are `SecretStr`, which is all that hides them; they come from the environment or from files, see `secrets`.
"""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NestedSecretsSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from typing_extensions import override

from memory.jobs.cron import NEVER, Schedule
from memory.values.errors import InvalidField
from storage.shared.encryption import SETTING, read_key

from .access_settings import AuthArgs, ErasureArgs, HttpArgs, LimitArgs, OidcArgs
from .answer_settings import AnswerArgs
from .deployment_options import check_options
from .dialogue_settings import DialogueArgs
from .knowledge_settings import KnowledgeArgs
from .language_model_settings import LanguageModelArgs
from .model_settings import EmbedderArgs, LearnerArgs, ModelArgs, ReembeddingArgs
from .secrets import require_present, require_same, secret_values, secrets_folder, without_secrets
from .section import Section


class DeadlineArgs(Section):
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
        description="Seconds that a message, or the memories of a question, wait for the Extractor while it is being "
        "restarted; then the turn goes on without it.",
    )
    extractor_batch: float = Field(
        default=60.0, gt=0, description="Seconds for the learner, which has many texts read in one call."
    )
    resolver: float = Field(
        default=3.0, gt=0, description="Seconds until what was read of a message is made into resolutions."
    )
    retriever: float = Field(default=8.0, gt=0, description="Seconds for a search.")
    reranker: float = Field(default=4.0, gt=0, description="Seconds for the scores of a list of passages.")
    answers: float = Field(
        default=15.0,
        gt=0,
        description="Seconds for the reading of the memories of a question, with the time that it waits "
        "(`models.max_wait_s`); then they are chosen by their nearness.",
    )
    learner: float = Field(default=60.0, gt=0, description="Seconds for callers that wait until a message is learned.")


class QdrantArgs(Section):
    """The vector index, where `stores` is `servers`."""

    url: str = Field(default="http://127.0.0.1:6333", min_length=1, description="URL of the Qdrant server.")
    api_key: SecretStr | None = Field(default=None, description="Its API key, where it asks for one.")
    quantisation: Literal["int8"] | None = Field(
        default=None, description="`int8` keeps a quarter of each vector in memory and scores the best again in full."
    )


class ArangoArgs(Section):
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


class TypedMemoryArgs(Section):
    """Typed memories (001)."""

    conflict_lower: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="From this cosine on two values contradict each other (001 §3.3), whatever the model. By default "
        "as the bands of the model say, and 0.85 for a model without.",
    )
    conflict_upper: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Up to this cosine two values contradict each other; as `conflict_lower`, with 1.0.",
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


class ReviewArgs(Section):
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
        _check_schedule(self.schedule, timezone=self.timezone, section="review")
        return self


class FactArgs(Section):
    """The jobs over facts (002 §5); the thresholds are explained in `memory.maintenance.decay`."""

    nightly: str = Field(
        default="30 1 * * *",
        description="When facts that say the same are merged, what was used becomes surer and summaries are written, "
        "as cron writes it; `never`: by command alone.",
    )
    weekly: str = Field(
        default="0 3 * * 0",
        description="When age lowers the confidence of facts, and the old and unsure is archived; or `never`.",
    )
    monthly: str = Field(
        default="0 4 1 * *",
        description="When facts are embedded again, their graph is built again and files are written anew; or `never`.",
    )
    timezone: str = Field(default="UTC", description="Time zone of the schedules, as in `Asia/Taipei`.")
    half_life_days: float = Field(
        default=30, gt=0, description="After so many days without use, the confidence of a fact is a half."
    )
    archive_after_days: float = Field(default=90, gt=0, description="A fact that is older than so many days …")
    archive_below: float = Field(
        default=0.05, ge=0, le=1, description="… and of less confidence than this is archived by the weekly job."
    )
    orphans_after_days: float = Field(
        default=90, gt=0, description="An entry of the log that nothing was made of is deleted after so many days."
    )

    @model_validator(mode="after")
    def _schedules_are_valid(self) -> Self:
        for schedule in (self.nightly, self.weekly, self.monthly):
            _check_schedule(schedule, timezone=self.timezone, section="facts")
        return self


class ContextArgs(Section):
    """How the categories of `/context` are ranked (002 §4.3)."""

    usage_window_days: float = Field(default=30, gt=0, description="Uses of a category within so many days count.")
    usage_norm: float = Field(default=10, gt=0, description="So many uses give the full score of usage.")
    usage_weight: float = Field(default=0.3, ge=0, description="How much usage adds to the priority.")
    recency_half_life_days: float = Field(
        default=14, gt=0, description="After so many days without use, the score of recency is a half."
    )
    recency_weight: float = Field(default=0.2, ge=0, description="How much recency adds to the priority.")


def _check_schedule(schedule: str, *, timezone: str, section: str) -> None:
    if schedule != NEVER:
        try:
            Schedule.parse(schedule, timezone=timezone)
        except InvalidField as error:
            raise ValueError(f"{section}.{error.field}: {error.message}") from error


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
    remembered_confidence_floor: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="The same for what nothing in the session can be meant by, and a name of long-term memory may: a "
        "message that names its thing by a noun is found as it is.",
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
    facts: FactArgs = FactArgs()
    context: ContextArgs = ContextArgs()
    knowledge: KnowledgeArgs = KnowledgeArgs()
    runs_kept_days: float | None = Field(
        default=None,
        gt=0,
        description="Days for which runs of background work that are over stay recorded; without a value for ever. The "
        "latest of each kind stays, and so do erasures and changes of the model, which say what is in force.",
    )
    erasure: ErasureArgs = ErasureArgs()
    embedder: EmbedderArgs = EmbedderArgs()
    models: ModelArgs = ModelArgs()
    answers: AnswerArgs = AnswerArgs()
    language_model: LanguageModelArgs = LanguageModelArgs()
    dialogue: DialogueArgs = DialogueArgs()
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
        for name in ("extractor", "answers"):
            deadline_s: float = getattr(self.deadlines, name)
            if self.models.max_wait_s >= deadline_s:
                raise ValueError(
                    f"models.max_wait_s: must be less than deadlines.{name}, {deadline_s:g}; "
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
