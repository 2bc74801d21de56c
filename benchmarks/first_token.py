"""How long the first token of `/v1/chat/completions` takes, with memory and without, and what memory adds.

Theory. Without a person a request is passed on: it costs a connection, the parsing of the body and of one chunk, and is
predicted at the upstream's own time plus 5 ms. With a person the message is read (one pass of the reader, 40 to 80 ms
on two CPU cores), its entities and, for a question, its memories are sought (10 to 20 ms), and the best of them are
read with it (80 to 150 ms): 60 to 120 ms more for a statement and 150 to 250 ms more for a question are predicted.
What is learned is written after the last token of the reply and adds nothing to the first.

The service has a language model, best one that answers at once (`testing.language_model_server`); the three ways take
turns, so that what else the machine does meets all of them.

    python -m benchmarks.first_token --url http://127.0.0.1:8000 [--model jiyi] [--key KEY] [--rounds 100]

The last line is JSON: medians and 95th percentiles in milliseconds.
"""

import argparse
import asyncio
import json
import statistics
import time
import uuid

import openai

_WARM_UP = 5
_TOLD = ("The spare key is in the blue drawer.", "My sister lives in Leeds.", "I drive a green van.")
_WAYS = {
    "without_memory": "Where is the spare key?",
    "statement": "The meeting was moved to Thursday.",
    "question": "Where is the spare key?",
}


async def measure(client: openai.AsyncOpenAI, model: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds to the first piece of text, by the way of asking."""
    person = f"bench-{uuid.uuid4().hex}"
    for text in _TOLD:
        await _first_token(client, model, text, person)
    taken: dict[str, list[float]] = {way: [] for way in _WAYS}
    for turn in range(-_WARM_UP, rounds):
        for way, text in _WAYS.items():
            said = f"{text} ({turn})"  # nothing is learned twice
            taken_ms = await _first_token(client, model, said, None if way == "without_memory" else person)
            if turn >= 0:
                taken[way].append(taken_ms)
    return taken


async def _first_token(client: openai.AsyncOpenAI, model: str, text: str, person: str | None) -> float:
    begin, first = time.perf_counter(), 0.0
    stream = await client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": text}],
        stream=True,
        extra_headers={"X-Jiyi-User": person} if person else {},
    )
    async for chunk in stream:
        if not first and chunk.choices and chunk.choices[0].delta.content:
            first = (time.perf_counter() - begin) * 1000
    return first


async def _main(options: argparse.Namespace) -> None:
    url = f"{options.url.rstrip('/')}/v1"
    async with openai.AsyncOpenAI(base_url=url, api_key=options.key, max_retries=0) as client:
        taken = await measure(client, options.model, options.rounds)
    figures: dict[str, float | int] = {"rounds": options.rounds}
    for way, times in taken.items():
        figures[f"{way}_median_ms"] = round(statistics.median(times), 1)
        figures[f"{way}_p95_ms"] = round(statistics.quantiles(times, n=20)[-1], 1)
        print(f"{way:15} {figures[f'{way}_median_ms']:8} ms median {figures[f'{way}_p95_ms']:8} ms p95")
    print(json.dumps(figures))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", default="jiyi")
    parser.add_argument("--key", default="none")
    parser.add_argument("--rounds", type=int, default=100)
    asyncio.run(_main(parser.parse_args()))
