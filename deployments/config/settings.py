"""All settings of the service: one typed object, from YAML `args:` first, then the environment, read once."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from memory.jobs.cron import NEVER, Schedule
from memory.values.errors import InvalidField


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EmbedderArgs(_Section):
    """The embedding path (DESIGN §5).

    Args:
        device: `auto` takes CUDA where the cluster has one.
        gpus: Share of a GPU of one replica, where it computes on one.
        threads: Torch threads of one replica, which asks Ray for as many cores; where it is not given, all cores of the
            largest machine, at most 8.
        batch_tokens: Padded tokens that one batch may hold; what suits the device where it is not given.
        max_waiting_tokens: Tokens that may wait in one replica, for each priority, before callers get 429; likewise.
        target_wait_s: Tokens waiting may take this long before a replica is added (DESIGN §2).
        tokens_per_s: What one replica is expected to encode until it has measured itself.
        min_replicas, max_replicas: Bounds of scaling. The upper one is, where it is not given, as many as the machines
            of the cluster have cores (and GPUs) for; more are waited for without end, unless the cluster itself grows.
        downscale_delay_s: So long fewer replicas must have sufficed before some are ended.
    """

    device: Literal["auto", "cpu", "cuda"] = "auto"
    gpus: float = Field(default=1.0, gt=0, le=1)
    threads: int | None = Field(default=None, ge=1)
    batch_tokens: int | None = Field(default=None, ge=512)
    max_waiting_tokens: int | None = Field(default=None, ge=1024)
    min_replicas: int = Field(default=1, ge=1)
    max_replicas: int | None = Field(default=None, ge=1)
    target_wait_s: float = Field(default=2.0, gt=0)
    tokens_per_s: float = Field(default=2000.0, gt=0)
    downscale_delay_s: float = Field(default=60.0, ge=0)

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "EmbedderArgs":
        if self.max_replicas is not None and self.max_replicas < self.min_replicas:
            raise ValueError("embedder.max_replicas must be at least embedder.min_replicas")
        return self


_OFF = BeforeValidator(lambda value: "off" if value is False else value)
"""YAML reads a bare `off` as false."""


class ModelArgs(_Section):
    """The trained models; each runs in the deployment that needs it (DESIGN §2, §5).

    Where a model's weights are missing, corrupt or switched off, rules answer in its place.

    Args:
        tagger: Names in the Extractor. `auto` runs it where its weights are.
        rewriter: References and what was left out, in the Resolver. Likewise.
        reranker: `off`, `builtin` (our own weights), or a cross-encoder's name on the model hub.
        weights: Folder with the weight files; those that are shipped where it is not given.
        device: `cuda` gives each of these deployments `gpus` of a GPU and computes in bf16 there (not run on one yet).
        gpus: Share of a GPU of one replica.
        threads: Torch threads of one replica; half of the machine's cores where it is not given, since a turn is
            tagged and rewritten at the same time.
        replicas: Of each of these deployments.
    """

    tagger: Annotated[Literal["auto", "off"], _OFF] = "auto"
    rewriter: Annotated[Literal["auto", "off"], _OFF] = "auto"
    reranker: Annotated[str, _OFF] = Field(default="off", pattern=r"^(off|builtin|[\w.-]+/[\w.-]+)$")
    weights: Path | None = None
    device: Literal["cpu", "cuda"] = "cpu"
    gpus: float = Field(default=0.2, gt=0, le=1)
    threads: int | None = Field(default=None, ge=1)
    replicas: int = Field(default=1, ge=1)


class ReembeddingArgs(_Section):
    """Embedding much at once, beside what serves people: everything with another model, the index of `jiyi index
    rebuild`, a corpus that was imported (DESIGN §8, docs/how-to/re-embedding.md).

    Args:
        actors: Encoders in the pool, each with the model's weights in its memory.
        threads: Torch threads of one; half of the machine's cores where it is not given.
        gpus: Share of a GPU of one.
        niceness: How far each gives way to other processes for the CPU: 0 not at all, 19 as far as possible.
        backlog: From how many turns and items that wait to be learned and indexed on the pool embeds them in place of
            the Embedder, which serves people; 0 for never. Worth it where the pool has cores or GPUs of its own.
    """

    actors: int = Field(default=1, ge=1)
    threads: int | None = Field(default=None, ge=1)
    gpus: float = Field(default=0, ge=0, le=1)
    niceness: int = Field(default=10, ge=0, le=19)
    backlog: int = Field(default=0, ge=0)


class DeadlineArgs(_Section):
    """How long a caller inside the graph waits for each part, in seconds; a part that takes longer counts as down.

    `embedder` is as long as a full queue takes on a CPU. `query_encode` is for the one short text that a turn needs
    encoded: it is below the deadlines of those who wait for it, so that a turn goes on without vectors while the
    Embedder is away. `extractor_batch` is for the learner, which has many texts read in one call.
    """

    embedder: float = Field(default=300.0, gt=0)
    query_encode: float = Field(default=2.0, gt=0)
    record: float = Field(default=5.0, gt=0)
    vectors: float = Field(default=4.0, gt=0)
    extractor: float = Field(default=3.0, gt=0)
    extractor_batch: float = Field(default=60.0, gt=0)
    resolver: float = Field(default=3.0, gt=0)
    retriever: float = Field(default=8.0, gt=0)
    reranker: float = Field(default=4.0, gt=0)
    learner: float = Field(default=60.0, gt=0)


class QdrantArgs(_Section):
    """The vector index, where `stores` is `servers`.

    Args:
        quantisation: `int8` keeps a quarter of each vector in memory and scores the best again in full.
    """

    url: str = "http://127.0.0.1:6333"
    api_key: str | None = Field(default=None, repr=False)
    quantisation: Literal["int8"] | None = None


class ArangoArgs(_Section):
    """The system of record, where `stores` is `servers`.

    Args:
        deadline_s: How long a call may take; less than the resolver's deadline, which reads known names first.
    """

    url: str = "http://127.0.0.1:8529"
    database: str = "jiyi"
    username: str = "root"
    password: str = Field(default="", repr=False)
    deadline_s: float = Field(default=2.0, gt=1.0)


class LimitArgs(_Section):
    """How much one user may ask for; no limit where `requests_per_minute` is not given.

    Args:
        burst: How many requests may come at once.
    """

    requests_per_minute: float | None = Field(default=None, gt=0)
    burst: int = Field(default=30, ge=1)


class TypedMemoryArgs(_Section):
    """Typed memories (001).

    Args:
        conflict_lower, conflict_upper: Between these cosines two values contradict each other (001 §3.3), for a model
            whose own bands are not calibrated.
        many_valued_types: Types of which several values hold at once (allergies, say): a surer value never takes the
            place of another by itself, the two are put in review.
        model: Encodes typed memories alone, into a collection of its own, and stays when the model of all else changes;
            001 §2.2 has all-mpnet-base-v2. Where it is not given, they have the model of all else. After a change of
            this setting they are indexed anew by themselves.
        access_flush_s: How long accesses are tallied before they are written.
    """

    conflict_lower: float = Field(default=0.85, ge=-1, le=1)
    conflict_upper: float = Field(default=1.0, ge=-1, le=1)
    many_valued_types: tuple[str, ...] = ()
    model: str | None = None
    access_flush_s: float = Field(default=30.0, gt=0)


class ReviewArgs(_Section):
    """The review of what is remembered (001 §4); the thresholds are explained in `memory.governance.review`.

    Args:
        schedule: When everybody's memory is reviewed, as cron has it; `never`: by command alone.
        timezone: Of the schedule.
    """

    schedule: str = "0 2 * * 0"
    timezone: str = "UTC"
    archive_max_access: int = Field(default=3, ge=0)
    archive_after_days: float = Field(default=90, gt=0)
    stale_after_days: float = Field(default=180, gt=0)
    still_accessed_within_days: float = Field(default=90, gt=0)
    keep_above_access: int = Field(default=10, ge=0)

    @model_validator(mode="after")
    def _schedule_is_one(self) -> "ReviewArgs":
        if self.schedule != NEVER:
            try:
                Schedule.parse(self.schedule, timezone=self.timezone)
            except InvalidField as error:
                raise ValueError(f"review.{error.field}: {error.message}") from error
        return self


class AppArgs(BaseSettings):
    """What `deployments.app:build_app` takes; checked before anything starts.

    Environment variables are called `JIYI_…`, with `__` between levels (`JIYI_EMBEDDER__THREADS`).

    Args:
        home: The one folder that holds all data.
        cache: Where prepared model weights are kept, shared by all homes.
        model: Id in the model catalogue, or a name on the model hub.
        stores: `embedded` keeps everything in `home`; `servers` uses Qdrant, ArangoDB and Redis (deploy/compose.yaml).
        redis_url: A Redis-protocol server for sessions, limits and locks. Without one, `embedded` starts a local server
            and `servers` looks on this machine at the usual port.
        confidence_floor: Below it, a reference stays as the user wrote it (DESIGN §3).
        answer_min_cosine: From which cosine on a memory may answer a question with which it shares few words; where it
            is not given, what the model catalogue says of the live model.
    """

    model_config = SettingsConfigDict(
        env_prefix="JIYI_", env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    home: Path = Path("~/.jiyi")
    cache: Path = Path("~/.cache/jiyi")
    model: str = "multilingual-e5-small"
    stores: Literal["embedded", "servers"] = "embedded"
    redis_url: str | None = Field(default=None, repr=False)
    qdrant: QdrantArgs = QdrantArgs()
    arango: ArangoArgs = ArangoArgs()
    limits: LimitArgs = LimitArgs()
    aam: TypedMemoryArgs = TypedMemoryArgs()
    review: ReviewArgs = ReviewArgs()
    confidence_floor: float = Field(default=0.5, ge=0, le=1)
    answer_min_cosine: float | None = Field(default=None, ge=0, le=1)
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    ingress_replicas: int = Field(default=1, ge=1)
    embedder: EmbedderArgs = EmbedderArgs()
    models: ModelArgs = ModelArgs()
    reembedding: ReembeddingArgs = ReembeddingArgs()
    deadlines: DeadlineArgs = DeadlineArgs()

    @property
    def data_home(self) -> Path:
        """`home` as an absolute path."""
        return self.home.expanduser().absolute()

    @property
    def model_cache(self) -> Path:
        """`cache` as an absolute path."""
        return self.cache.expanduser().absolute()
