"""Background work of a real service is seen, followed and retried over HTTP and the command line (004 §11.4)."""

import json
import re

import pytest

from jiyi.client.clients import Client
from jiyi.errors import Conflict
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e


def _rebuilds(client: Client) -> int:
    """How many rebuilds of the index the metrics count as completed."""
    counted = re.search(
        r'jiyi_pipeline_runs{kind="index_rebuild",status="completed"} (\d+)', client.operations.metrics()
    )
    return int(counted[1]) if counted else 0


def test_background_work_is_seen_followed_and_survives_the_learner(service: Service) -> None:
    with service.client as client:
        client.add([{"content": f"I bought printer P-{number}."} for number in range(20)], user_id="ann")
        job = client.facts.start_job("nightly")
        before = _rebuilds(client)
        rebuild = client.index.rebuild()
        service.command("export", "ann")
        seen = {name: [event.name for event in client.runs.follow(run.run_id)] for name, run in
                (("job", job), ("rebuild", rebuild))}  # fmt: skip
        assert [events[-1] for events in seen.values()] == ["end", "end"]
        listed = json.loads(service.command("jobs", "list", "--json"))["results"]
        kinds = {"facts_nightly", "index_rebuild", "export"}  # other tests leave runs of others, some of them failed
        assert {(run["kind"], run["status"]) for run in listed if run["kind"] in kinds} == {
            (kind, "completed") for kind in kinds
        }
        assert rebuild.run_id in service.command("jobs", "show", rebuild.run_id)
        with pytest.raises(Conflict):
            client.runs.retry(rebuild.run_id)
        assert service.kill(lambda name: "Learner" in name or "learner" in name)
        again = client.index.rebuild()
        assert [event.name for event in client.runs.follow(again.run_id)][-1] == "end"
        assert client.runs.get(rebuild.run_id).status == "completed"
        assert _rebuilds(client) == before + 2
