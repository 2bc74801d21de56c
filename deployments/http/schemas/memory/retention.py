"""Request and reply bodies of the timeline, decisions, policies and single memories (004 §7, §11.3)."""

from typing import Annotated, Self

from pydantic import Field, StrictInt, model_validator

from memory.governance.policies import MAX_SAMPLES
from memory.governance.timeline import RetainedMemory
from memory.values.base import WHOLE, utc_now
from memory.values.governance.changes import Change
from memory.values.governance.decisions import MAX_DECISIONS, Decision, DecisionRecord, DecisionRequest, check_versions
from memory.values.governance.retention import DecayRate, FrequencyWeight, RetentionPolicy, RetentionThreshold

from ..fields import KEYS, Flag, Identifier, Metadata, RequestModel, Text, examples, given
from ..users import User
from .governance import ReasonIn

VersionIn = Annotated[StrictInt, Field(ge=1), WHOLE]
_ID = "6c1f2a4e-4d0b-5d0e-9a55-1f6a3c2b9d10"
_DEFAULT = RetentionPolicy()


class PolicyIn(RequestModel):
    """The numbers of the forgetting curve: `min(1, e^(-decay_rate·days) · (1 + frequency_weight·ln(1 + uses)) / 5)`."""

    decay_rate: Annotated[DecayRate, Field(strict=True)] = Field(
        default=_DEFAULT.decay_rate, description="λ per day: the larger, the faster something is forgotten."
    )
    frequency_weight: Annotated[FrequencyWeight, Field(strict=True)] = Field(
        default=_DEFAULT.frequency_weight, description="The weight of the number of uses; 1 is document 004's."
    )
    threshold: Annotated[RetentionThreshold, Field(strict=True)] = Field(
        default=_DEFAULT.threshold, description="What is retained less than this counts as forgotten."
    )

    @property
    def policy(self) -> RetentionPolicy:
        """The policy."""
        return RetentionPolicy(**self.model_dump())


class AppPolicyBody(RequestModel):
    """A policy for all users of the app who have none of their own; null for that of document 004."""

    model_config = examples({"policy": {"decay_rate": 0.05}})

    policy: PolicyIn | None


class UserPolicyBody(RequestModel):
    """A policy for a user; null for that of the app."""

    model_config = examples({"user_id": "ada", "policy": {"decay_rate": 0.05, "threshold": 0.02}})

    user_id: User
    policy: PolicyIn | None


class AppPreviewBody(RequestModel):
    """A policy to try; null for the one that holds."""

    model_config = examples({"policy": {"decay_rate": 0.3}, "samples": 5})

    policy: PolicyIn | None = None
    samples: Annotated[StrictInt, Field(ge=0, le=MAX_SAMPLES), WHOLE] = 10


class UserPreviewBody(AppPreviewBody):
    """A policy to try on the memories of a user; null for the one that holds."""

    model_config = examples({"user_id": "ada", "policy": {"decay_rate": 0.3}, "samples": 5})

    user_id: User


class DecideBody(RequestModel):
    """Decisions about memories, made at once: all of them, or none."""

    model_config = examples(
        {"user_id": "ada", "decisions": {_ID: "anonymize"}, "expected_versions": {_ID: 1}, "idempotency_key": "a-1"},
        {"user_id": "ada", "decisions": {_ID: "delete"}, "note": "asked by mail", "wait": True},
    )

    user_id: User
    decisions: Annotated[dict[Identifier, Decision], Field(min_length=1, max_length=MAX_DECISIONS), KEYS] = Field(
        description="By the id of the memory: `retain`, `delete` (with its message and facts) or `anonymize`."
    )
    expected_versions: Annotated[dict[Identifier, VersionIn], Field(max_length=MAX_DECISIONS), KEYS] = Field(
        default={}, description="409 where one of these memories has another version."
    )
    idempotency_key: Identifier | None = Field(
        default=None, description="The same request with this key is carried out once; another one is 409."
    )
    note: ReasonIn = Field(default="", description="Why; it is kept in the audit history.")
    wait: Flag = Field(default=False, description="Reply when it is erased everywhere, or after half a minute.")

    @model_validator(mode="after")
    def _versions_are_of_decisions(self) -> Self:
        check_versions(self.expected_versions, self.decisions)
        return self

    @property
    def request(self) -> DecisionRequest:
        """The request, made now."""
        return DecisionRequest(**self.model_dump(exclude={"wait"}), at=utc_now())


class AuditList(RequestModel):
    """Decisions, latest first; `next` is the `before` of the next page."""

    results: tuple[DecisionRecord, ...]
    next: int | None


class EditMemoryBody(RequestModel):
    """What a memory says from now on: a text, metadata, or both."""

    model_config = examples(
        {"user_id": "ada", "text": "我們公司上個月買了 AI-Box，放在四樓機房。", "expected_version": 1},
        rule={"anyOf": [given(text="string"), given(metadata="object")]},
    )

    user_id: User
    text: Text | None = None
    metadata: Metadata | None = Field(default=None, description="All of it; what is left out is gone.")
    expected_version: VersionIn | None = Field(default=None, description="409 where it has another version.")
    reason: ReasonIn = ""

    @model_validator(mode="after")
    def _edits_something(self) -> Self:
        if self.text is None and self.metadata is None:
            raise ValueError("give text, metadata or both")
        return self


class EditMemoryReply(RequestModel):
    """The memory as it is now, and the change; null where nothing differs."""

    memory: RetainedMemory
    change: Change | None
