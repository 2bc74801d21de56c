"""What reading the memories with a question adds to its answer: two services, with the answer reader and without.

Theory. The reader takes the question and up to `answers.lines` memories in one pass of at most 512 tokens through the
body of the encoder, some thirty times the tokens of the question alone; two cores multiply them in 40 to 80 ms. All
else is the same in both, so the difference is the pass and a call within the process. The aim is at most 40 ms a
question (issue 18).

    JIYI_MODELS__ANSWERS=off jiyi up --home OTHER --port 8001
    python -m benchmarks.answering --url http://127.0.0.1:8000 --without http://127.0.0.1:8001 [--rounds 10]

A user of each service is told all that the example scenarios tell, and asked all their questions in every round, each
in a session of its own. The services take turns at each question, the one or the other first, so that what else the
machine does meets both; the added time is the median over these pairs. The last line is JSON.
"""

import argparse
import json
import statistics
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from benchmarks import conversations
from benchmarks.conversations.scenarios import Expected, Scenario, read_scenarios
from benchmarks.conversations.systems import user_lines
from jiyi import Client

_EXAMPLE = Path(conversations.__file__).parent / "data" / "example.txt"
_PATIENCE_S = 120.0


def questions_of(scenarios: Sequence[Scenario]) -> list[str]:
    """The questions for memory: no requests to forget, and nothing that memory is not asked for."""
    asked = {Expected.VALUE, Expected.NONE, Expected.DOUBT}
    return [question.text for scenario in scenarios for question in scenario.questions if question.expected in asked]


def measure(services: Sequence[Client], scenarios: Sequence[Scenario], rounds: int) -> list[tuple[float, ...]]:
    """Milliseconds of each question at each service, round after round; the first round warms up and is left out."""
    user = f"bench-{uuid.uuid4().hex}"
    for client in services:
        for scenario in scenarios:
            for session in scenario.sessions:
                if told := user_lines(session.lines):
                    client.add([{"role": "user", "content": line} for line in told], user_id=user)
    pairs = []
    for number in range(rounds + 1):
        for place, question in enumerate(questions_of(scenarios)):
            took_ms: dict[Client, float] = {}
            for client in services if (number + place) % 2 else reversed(services):
                begin = time.perf_counter()
                client.chat(question, user_id=user, session_id=f"{number}-{place}")
                took_ms[client] = (time.perf_counter() - begin) * 1e3
            if number:
                pairs.append(tuple(took_ms[client] for client in services))
    return pairs


def summarise(pairs: Sequence[tuple[float, ...]]) -> dict[str, float | int]:
    """Medians and 95th percentiles with and without, the median of what is added to a question, and of the ratio."""
    reading, without = zip(*pairs, strict=True)
    figures: dict[str, float | int] = {"questions": len(pairs)}
    for name, times in (("reading", reading), ("without", without)):
        figures[f"{name}_median_ms"] = round(statistics.median(times), 1)
        figures[f"{name}_p95_ms"] = round(statistics.quantiles(times, n=20)[-1], 1)
    figures["added_median_ms"] = round(statistics.median(read - plain for read, plain in pairs), 1)
    figures["ratio_median"] = round(statistics.median(read / plain for read, plain in pairs), 2)
    return figures


def main() -> None:
    """Prints the figures and, last, one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="a service that reads")
    parser.add_argument("--without", required=True, help="one with `models.answers: off`")
    parser.add_argument("--api-key")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    with (
        Client(options.url, patience_s=_PATIENCE_S, api_key=options.api_key) as reading,
        Client(options.without, patience_s=_PATIENCE_S, api_key=options.api_key) as without,
    ):
        figures = summarise(measure((reading, without), read_scenarios(_EXAMPLE), options.rounds))
    for name, figure in figures.items():
        print(f"{name:18} {figure:8}")
    print(json.dumps({"benchmark": "answering", **figures}))


if __name__ == "__main__":
    main()
