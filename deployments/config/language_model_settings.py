"""Settings of the language model that Jiyi may ask, at up to three OpenAI-compatible endpoints."""

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from .section import Section


class EndpointArgs(Section):
    """One more endpoint, asked where those before it do not answer."""

    base_url: str | None = Field(
        default=None,
        description="An OpenAI-compatible endpoint, as `https://api.openai.com/v1` or `http://127.0.0.1:11434/v1`; "
        "without one none is asked.",
    )
    api_key: SecretStr | None = Field(default=None, description="Its API key, where it asks for one.")
    model: str | None = Field(default=None, min_length=1, description="The model's name there.")
    timeout_s: float = Field(
        default=30.0, gt=0, description="Seconds for an answer, retries included; then the next endpoint is asked."
    )
    max_retries: int = Field(
        default=2,
        ge=0,
        le=10,
        description="How often a request is repeated that met no answer, a limit (429, after `Retry-After`) or an "
        "error of the endpoint (5xx).",
    )
    rest_s: float = Field(
        default=30.0,
        ge=0,
        description="Seconds for which it is not asked once it did not answer, unless its `Retry-After` says more.",
    )
    answer_format: Literal["json_schema", "json_object", "text"] = Field(
        default="json_schema",
        description="How an answer's form is asked for: its schema, JSON alone, or in words alone, for endpoints that "
        "know no better. Every answer is checked, whichever it is.",
    )
    token_limit: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens",
        description="The name of the parameter that limits an answer; OpenAI's newer models want the second.",
    )
    temperature: float | None = Field(
        default=0.0, ge=0, le=2, description="`null` in serve_config.yaml for models that take none."
    )

    @field_validator("base_url")
    @classmethod
    def _url_is_one(cls, value: str | None) -> str | None:
        if value is None:
            return value
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("language_model.base_url: must be a URL with http:// or https://")
        if parts.username or parts.password or parts.query:
            raise ValueError("language_model.base_url: a key goes into language_model.api_key, not into the URL")
        return value

    @model_validator(mode="after")
    def _model_is_named(self) -> "EndpointArgs":
        if self.base_url is not None and self.model is None:
            raise ValueError("language_model.model: an endpoint needs the name of a model")
        return self


class LanguageModelArgs(EndpointArgs):
    """A language model at any OpenAI-compatible endpoint; off unless `base_url` is set (docs/how-to/language-model.md).

    Messages, memories and facts of users are sent to it.
    """

    read_facts: bool = Field(
        default=True,
        description="Whether the Learner has it read the facts of messages; where it does not answer, those of the "
        "reader hold.",
    )
    write_summaries: bool = Field(
        default=True,
        description="Whether it writes the summaries of categories; where it does not answer, they are extractive.",
    )
    answer_questions: bool = Field(
        default=True,
        description="Whether it words the answers of `/chat` to questions, from the memories that the answer reader "
        "chose; without `models.answers` it is not asked. Where it does not answer, or says what those do not, they "
        "are quoted.",
    )
    answer_deadline_s: float = Field(
        default=20.0,
        gt=0,
        description="Seconds for the answer to a question, for which the reply waits; then the memories are quoted, "
        "and no question is sent for `rest_s`.",
    )
    continue_chats: bool = Field(
        default=True,
        description="Whether it continues the conversations of `/v1/chat/completions` and `/v1/responses`; otherwise "
        "the replies are those of `/chat`. A piece of a streamed reply must come within `timeout_s` of the endpoint.",
    )
    memory_tokens: int = Field(
        default=1_000,
        ge=0,
        description="The most that such a conversation is told of the user's memory, in tokens as they are estimated.",
    )
    max_chat_tokens: int = Field(
        default=128_000,
        ge=1_000,
        description="The longest such conversation, estimated; a longer one gets 400. Memory gives way first.",
    )
    at_once: int = Field(default=8, ge=1, le=256, description="Requests of one process at the same time.")
    attempts: int = Field(default=2, ge=1, le=5, description="How often it is asked until an answer is valid.")
    facts_deadline_s: float = Field(
        default=45.0,
        gt=0,
        description="Seconds for the facts of up to 64 messages; then the reader's hold for the rest. Who waits for "
        "a message to be learned waits for it.",
    )
    max_prompt_tokens: int = Field(
        default=6_000,
        ge=2_000,
        description="The longest prompt, in tokens as they are estimated: a third of its bytes.",
    )
    max_answer_tokens: int = Field(default=1_024, ge=64, description="The longest answer, in the model's tokens.")
    second: EndpointArgs = Field(default=EndpointArgs(), description="Asked where the first endpoint does not answer.")
    third: EndpointArgs = Field(default=EndpointArgs(), description="Asked where the second does not answer either.")

    @property
    def endpoints(self) -> tuple[EndpointArgs, ...]:
        """Those that are set, in the order in which they are asked."""
        return tuple(endpoint for endpoint in (self, self.second, self.third) if endpoint.base_url is not None)

    @model_validator(mode="after")
    def _first_is_set(self) -> "LanguageModelArgs":
        if self.endpoints and self.base_url is None:
            raise ValueError("language_model.base_url: the first endpoint is not set, but another is")
        return self
