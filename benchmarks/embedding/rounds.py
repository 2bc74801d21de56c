"""Goes through the contestants round by round: each is started, asked and ended before the next."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.embedding.environments import ensure
from benchmarks.embedding.peers import BASELINE, PEERS, SENTENCE_TRANSFORMERS, Peer
from benchmarks.embedding.servers import Running, our_service, peer_server, thread_variables
from benchmarks.embedding.workloads import WORKLOADS
from deployments.host.cluster import ray_environment, running_address

_MODEL_CONFIG = "sentence_bert_config.json"
_REPOSITORY = Path(__file__).parents[2]
SHARES = (0.5, 0.7, 0.9)
_EQUAL_SHARE = 0.7
_SERVER_WORKLOAD = "mixed"
"""Whose capacity the open loops go by."""

Figures = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """How a run is done.

    Attributes:
        names: Contestants, in the order of `PEERS`.
        scale: Of the number of requests by which capacity is measured.
        seconds: Of one open loop.
        cache: Where prepared weights are kept.
        envs: Where the peers' environments are kept.
        work: For the service's home and a folder of links.
        logs: For what servers and generators say.
    """

    names: Sequence[str]
    threads: int
    scale: float
    seconds: float
    cache: Path
    model: Path
    envs: Path
    work: Path
    logs: Path


class ClientFailed(Exception):
    """A generator ended with an error; the message ends with what it said."""


class Rounds:
    """All rounds of one run; `results` grows by one measurement after the other."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._equal_per_s: float | None = None
        self._plain = plain_folder(plan.model, plan.work / "plain")
        self.results: list[Figures] = []
        self.lengths: dict[str, list[int]] = {}
        self.memory_mib: dict[str, float] = {}
        self.reference = self._reference()

    def run(self, number: int) -> Iterator[str]:
        """One round; yields the name of each contestant before its turn."""
        ours = [name for name in self._plan.names if PEERS[name].is_ours]
        for name in self._plan.names:
            if not PEERS[name].is_ours:
                yield name
                with self._server(PEERS[name]) as running:
                    self._turn(number, name, running)
        if ours:
            self._fix_equal_rate()
            yield ours[0]
            with our_service(self._plan.work / "home", self._plan.cache, self._plan.threads) as running:
                for place, name in enumerate(ours):
                    if place:
                        yield name
                    self._turn(number, name, running)
        self._fix_equal_rate()

    def _fix_equal_rate(self) -> None:
        """Once the peers have been measured, all are also asked at one and the same rate."""
        capacities = [
            result["completed_per_s"]
            for result in self.results
            if (result["what"], result.get("workload")) == ("closed", _SERVER_WORKLOAD)
            and not PEERS[result["name"]].is_ours
            and PEERS[result["name"]].server
        ]
        if self._equal_per_s is None and capacities:
            self._equal_per_s = round(_EQUAL_SHARE * max(capacities), 2)

    def _turn(self, number: int, name: str, running: Running | None) -> None:
        peer = PEERS[name]
        loads: list[Figures] = [{"share": share} for share in SHARES]
        if self._equal_per_s is not None:
            loads.append({"rate": self._equal_per_s, "equal": 1})
        job = {
            "transport": self._transport(peer, running),
            "check": number == 0,
            "closed": list(WORKLOADS),
            "scale": self._plan.scale,
            "open": [(_SERVER_WORKLOAD, load) for load in loads] if running else [],
            "seconds": self._plan.seconds,
            "seed": 1000 * number,
        }
        seen = running.cpu_s() if running else 0.0
        since = time.monotonic()
        for figures in self._client(peer, job):
            now_s, now = (running.cpu_s() if running else 0.0), time.monotonic()
            if figures["what"] == "check":
                figures = {"what": "check", "cosine": self._agreement(figures["vectors"])}
            if figures["what"] not in ("begin", "lengths"):
                cores = {"server_cpu": round((now_s - seen) / (now - since), 3)} if running else {}
                self._keep({"round": number, "name": name, **figures, **cores})
            seen, since = now_s, now
        if running:
            self.memory_mib[name] = round(running.memory_mib())

    def _keep(self, result: Figures) -> None:
        """Written at once, so that a run that breaks off loses nothing."""
        self.results.append(result)
        with (self._plan.logs / "measurements.jsonl").open("a") as file:
            file.write(json.dumps(result) + "\n")

    def _agreement(self, written: list[list[str]]) -> float:
        """The lowest cosine between a vector and that of the reference."""
        lowest = 1.0
        for mine, reference in zip(_read(written), self.reference, strict=True):
            lengths = np.linalg.norm(mine, axis=1) * np.linalg.norm(reference, axis=1)
            lowest = min(lowest, float((np.sum(mine * reference, axis=1) / lengths).min()))
        return round(lowest, 6)

    def _reference(self) -> list[npt.NDArray[np.float32]]:
        """Vectors of plain sentence-transformers in fp32, and what the texts' lengths are."""
        peer = PEERS[BASELINE]
        job = {"transport": self._transport(peer, None), "check": True}
        answers = {figures["what"]: figures for figures in self._client(peer, job)}
        self.lengths = {name: counts for name, counts in answers["lengths"].items() if name != "what"}
        return _read(answers["check"]["vectors"])

    def _transport(self, peer: Peer, running: Running | None) -> Figures:
        if running is None:
            return {"kind": "in_process", "folder": str(self._plan.model), "threads": self._plan.threads}
        if running.home is not None and peer.transport == "handle":
            return {"kind": "handle", "home": str(running.home), "address": running_address(running.home)}
        path = peer.server.path if peer.server else "/v1/embeddings"
        return {"kind": "http", "url": running.url, "path": path, "names_kind": peer.names_kind}

    @contextmanager
    def _server(self, peer: Peer) -> Iterator[Running | None]:
        if peer.server is None:
            yield None
            return
        binaries = ensure(peer.server.environment, self._plan.envs)
        model = self._plain if peer.server.plain_folder else self._plan.model
        log = self._plan.logs / f"{peer.server.environment.name}.log"
        with peer_server(peer.server, binaries, model, self._plan.threads, log) as running:
            yield running

    def _client(self, peer: Peer, job: Figures) -> Iterator[Figures]:
        """Runs a generator and yields what it says.

        Raises:
            ClientFailed: It ended with an error.
        """
        python, variables = sys.executable, os.environ | {"OMP_NUM_THREADS": "1"}
        if peer.transport == "in_process":
            python = str(ensure(SENTENCE_TRANSFORMERS, self._plan.envs) / "python")
            variables = os.environ | thread_variables(self._plan.threads)
        elif peer.transport == "handle":
            variables = ray_environment(Path(job["transport"]["home"])) | {"OMP_NUM_THREADS": "1"}
        log = self._plan.logs / "client.log"
        with log.open("ab") as errors:
            process = subprocess.Popen(
                [python, "-m", "benchmarks.embedding.client"],
                cwd=_REPOSITORY,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            with process:
                process.stdin.write(json.dumps(job))
                process.stdin.close()
                for line in process.stdout:
                    if line.startswith("{"):  # Ray writes notes of its own
                        yield json.loads(line)
        if process.returncode:
            raise ClientFailed(f"the generator ended with {process.returncode}; see {log}")


def _read(written: list[list[str]]) -> list[npt.NDArray[np.float32]]:
    return [np.stack([np.frombuffer(base64.b64decode(row), "<f4") for row in matrix]) for matrix in written]


def plain_folder(model: Path, into: Path) -> Path:
    """A folder of links to the model's files, with a configuration that sentence-transformers before 4 can read.

    Args:
        model: The prepared folder.
        into: A new folder.

    Returns:
        `into`.
    """
    into.mkdir(parents=True)
    for entry in model.iterdir():
        if entry.name != _MODEL_CONFIG:
            (into / entry.name).symlink_to(entry)
    config = json.loads((model / _MODEL_CONFIG).read_text())
    (into / _MODEL_CONFIG).write_text(json.dumps({"max_seq_length": config["max_seq_length"], "do_lower_case": False}))
    return into
