"""What is told of Serve's own details."""

from deployments.host.watch import Replicas, replicas_of


def test_a_replica_runs_only_when_serve_says_so() -> None:
    details = {
        "applications": {
            "jiyi": {
                "deployments": {
                    "Embedder": {
                        "target_num_replicas": 3,
                        "replicas": [{"state": "RUNNING"}, {"state": "STARTING"}, {"state": "STOPPING"}],
                    },
                    "Ingress": {"target_num_replicas": 1, "replicas": []},
                }
            }
        }
    }
    assert replicas_of(details) == {"Embedder": Replicas(target=3, running=1), "Ingress": Replicas(1, 0)}
