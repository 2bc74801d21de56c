"""A language model as the answerer: the lines that Jiyi's search finds are its context."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from .judge import Reply
from .systems import Answered, Found

_PROMPT = """\
You answer a user's question from what the user said earlier. Each line has the date on which it was said.
Answer in one sentence, in the language of the question, with the words of the lines.
A newer line replaces an older one that says otherwise. Where something that the answer hangs on has changed since, say
that the old value held before and may not hold now. Where no line answers the question, say that you don't know.
Where the user wants something forgotten and several things could be meant, ask which.

{lines}

Today is {today}."""


class ModelRefused(Exception):
    """The endpoint gave no answer; the message has its status and what it said."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint: base URL with `/v1`, key and model."""

    url: str
    model: str
    key: str | None = None


def endpoint_from(url: str | None, model: str | None, key: str | None) -> Endpoint | None:
    """The endpoint of the options, else of `OPENAI_BASE_URL`, `OPENAI_MODEL` and `OPENAI_API_KEY`; None without."""
    url, model = url or os.environ.get("OPENAI_BASE_URL"), model or os.environ.get("OPENAI_MODEL")
    return Endpoint(url, model, key or os.environ.get("OPENAI_API_KEY")) if url and model else None


class Answerer:
    """Asks the model; safe to share between threads, and closed at the end of its `with`."""

    def __init__(self, endpoint: Endpoint, *, http: httpx.Client | None = None) -> None:
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._http = http or httpx.Client(timeout=120.0)
        self._url = f"{endpoint.url.rstrip('/')}/chat/completions"
        self._headers, self._model = headers, endpoint.model

    def __enter__(self) -> "Answerer":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def answer(self, question: str, found: Sequence[Found], *, today: str) -> Answered:
        """Answers from lines found.

        Raises:
            ModelRefused: The endpoint's status is not 2xx, or its reply holds no text.
            httpx.TransportError: It cannot be reached.
        """
        lines = "\n".join(f"- {line.date}: {line.text}" for line in sorted(found, key=lambda line: line.date))
        system = _PROMPT.format(lines=lines or "(no lines)", today=today)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        begin = time.perf_counter()
        response = self._http.post(
            self._url,
            headers=self._headers,
            json={"model": self._model, "temperature": 0, "messages": messages},
        )
        if not response.is_success:
            raise ModelRefused(f"{response.status_code}: {response.text[:300]}")
        text = response.json()["choices"][0]["message"]["content"]
        if not isinstance(text, str):
            raise ModelRefused("the reply holds no text")
        return Answered(Reply(text.strip()), tuple(found), time.perf_counter() - begin)
