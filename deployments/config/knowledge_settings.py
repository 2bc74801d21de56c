"""Settings of the knowledge base (004)."""

from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from memory.values.access.identity import AppId

from .section import Section


class RerankerApiArgs(Section):
    """A reranker at an endpoint, which corpora with `reranking` `api` or `composite` ask."""

    url: str | None = Field(
        default=None,
        description="`POST` endpoint in the form of Cohere's, as `https://api.cohere.com/v2/rerank`; without one, none "
        "is asked.",
    )
    api_key: SecretStr | None = Field(default=None, description="Its API key, where it asks for one.")
    model: str | None = Field(default=None, min_length=1, description="The model's name there.")
    timeout_s: float = Field(
        default=5.0, gt=0, description="Seconds for an answer; then the ranking stays as it is, or the next is asked."
    )

    @field_validator("url")
    @classmethod
    def _url_is_one(cls, value: str | None) -> str | None:
        parts = urlsplit(value or "")
        if value is not None and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("knowledge.reranker.url: must be a URL with http:// or https://")
        if parts.username or parts.password:
            raise ValueError("knowledge.reranker.url: a key goes into knowledge.reranker.api_key, not into the URL")
        return value


class KnowledgeArgs(Section):
    """Ingestion and search of documents."""

    sources_at_once: int = Field(
        default=2, ge=1, description="Documents that are read and indexed at the same time; others wait."
    )
    in_chat: dict[AppId, tuple[str, ...]] = Field(
        default={},
        description="By app, names of the corpora that may answer in its chats beside memory, where a request names "
        'none: `{"default": ["product-manuals"]}`.',
    )
    reranker: RerankerApiArgs = Field(default=RerankerApiArgs(), description="The endpoint of `reranking` `api`.")
