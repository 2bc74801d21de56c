"""mem0 in its own environment: requests on standard input, one JSON line each, replies on standard output.

    python mem0_worker.py FOLDER EMBEDDINGS_URL MODEL DIMENSION

Runs in mem0's environment, so it imports nothing of this repository. `{"user", "line", "date"}` adds a line without a
language model (`infer=False`), `{"user", "question", "top_k"}` searches.
"""

import json
import os
import sys
from typing import Any


def main() -> None:
    """Answers requests until standard input ends."""
    folder, url, model, dimension = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": os.path.join(folder, "settings")}
    replies, sys.stdout = sys.stdout, sys.stderr  # what mem0 prints is no reply
    from mem0 import Memory

    nobody = {"api_key": "none", "openai_base_url": "http://127.0.0.1:9/v1"}  # must be named; is never asked
    store = {
        "path": os.path.join(folder, "vectors"),
        "collection_name": "lines",
        "embedding_model_dims": dimension,
        "on_disk": True,
    }
    memory = Memory.from_config(
        {
            "llm": {"provider": "openai", "config": nobody},
            "embedder": {
                "provider": "openai",
                "config": {"api_key": os.environ.get("JIYI_API_KEY", "none"), "openai_base_url": url, "model": model},
            },
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": os.path.join(folder, "history.db"),
        }
    )
    for line in sys.stdin:
        print(json.dumps(_answer(memory, json.loads(line))), file=replies, flush=True)


def _answer(memory: Any, request: dict[str, Any]) -> Any:
    user = request["user"]
    if "line" in request:
        said = [{"role": "user", "content": request["line"]}]
        memory.add(said, user_id=user, metadata={"date": request["date"]}, infer=False)
        return None
    results = memory.search(request["question"], filters={"user_id": user}, top_k=request["top_k"])["results"]
    return [[hit["memory"], hit["score"], hit["metadata"]["date"]] for hit in results]


if __name__ == "__main__":
    main()
