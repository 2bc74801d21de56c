"""The scenarios for people who know locust.

    python -m locust -f benchmarks/load/locustfile.py --host http://127.0.0.1:8000

`JIYI_SCENARIO` names the scenario (chat, ingest, search, mixed or a path), `mixed` without it. Locust is a closed loop:
a user who waits asks nothing, so its latencies look better than the truth once the service is busy. `python -m
benchmarks.load` measures those; this is for watching, and for load from several machines.

Needs the extra `bench`. Start it from the repository root, and as a module, so that this package is found.
"""

import os
import random
import uuid
from typing import Any

from locust import FastHttpUser, task

from benchmarks.load.scenarios import Planner, load_scenario

_SCENARIO = load_scenario(os.environ.get("JIYI_SCENARIO", "mixed"))
_RUN = f"locust-{uuid.uuid4().hex[:8]}"
_JSON = {"content-type": "application/json"}


class ScenarioUser(FastHttpUser):
    """One user of the scenario, who thinks between two requests."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scenario = _SCENARIO.model_copy(update={"users": 1})
        self._planner = Planner(scenario, prefix=f"{_RUN}-{uuid.uuid4().hex[:8]}", seed=random.randrange(2**32))

    def wait_time(self) -> float:
        """Exponential, as the open loop's arrivals are."""
        return random.expovariate(1 / _SCENARIO.think_s)

    def on_start(self) -> None:
        """Gives the user its memories."""
        for request in self._planner.preparation():
            self.client.post(request.path, data=request.body, headers=_JSON, name=request.name)

    @task
    def ask(self) -> None:
        """Sends the next request of the scenario."""
        request = self._planner.draw()
        self.client.request(request.method, request.path, data=request.body, headers=_JSON, name=request.name)
