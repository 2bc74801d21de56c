"""Settings of the models, and of what learns, embeds and embeds again with them."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from .section import Section

_OFF = BeforeValidator(lambda value: "off" if value is False else value)
_ON = BeforeValidator(lambda value: "on" if value is True else value)
"""YAML reads a bare `off` as false, and `on` as true."""


class EmbedderArgs(Section):
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


class ModelArgs(Section):
    """The trained models; each runs in the deployment that needs it (DESIGN §2, §5).

    Without the reader only known names, identifiers and words for times are found in a message, and every reply says
    `degraded: reader`.
    """

    reader: Annotated[Literal["auto", "on", "off"], _ON, _OFF] = Field(
        default="auto",
        description="Names, intents, references and facts of a message, in the Extractor. `auto` runs it where its "
        "weights are; with `on` missing weights show in `/health/detailed`.",
    )
    answers: Annotated[Literal["auto", "on", "off"], _ON, _OFF] = Field(
        default="auto",
        description="Which memories answer a question, in which words, and when none does; which a request to forget "
        "means. `auto` runs it where its weights are; without it memories are chosen by how near they are to the "
        "question.",
    )
    answers_apart: bool = Field(
        default=False,
        description="Runs the answer reader in a deployment `Answers` that scales by itself. By default the Extractor "
        "runs it, in a process that has loaded what it needs already: one of its own loads that once more.",
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


class LearnerArgs(Section):
    """How turns are learned in the background."""

    users_at_once: int = Field(
        default=4,
        ge=1,
        le=64,
        description="Users learned at the same time, so that a slow one does not hold up others.",
    )


class ReembeddingArgs(Section):
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
