"""The server that anybody writes first: FastAPI around sentence-transformers, one encode at a time.

    python fastapi_server.py MODEL_FOLDER PORT THREADS

Runs in a peer's environment, so it imports nothing of this repository.
"""

import base64
import sys
import threading

import orjson
import torch
import uvicorn
from fastapi import FastAPI, Response
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer


class Body(BaseModel):
    """The request body of OpenAI's clients."""

    input: str | list[str]
    encoding_format: str = "float"


def main() -> None:
    """Serves until it is ended."""
    folder, port, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    model = SentenceTransformer(folder, device="cpu", local_files_only=True)
    one_at_a_time = threading.Lock()  # several at once would fight for the cores, and share one tokenizer
    app = FastAPI()

    @app.post("/v1/embeddings")
    def embeddings(body: Body) -> Response:
        texts = [body.input] if isinstance(body.input, str) else body.input
        with one_at_a_time:
            vectors = model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        written = [
            base64.b64encode(vector.tobytes()).decode() if body.encoding_format == "base64" else vector.tolist()
            for vector in vectors
        ]
        data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(written)]
        reply = {"object": "list", "data": data, "model": "e5"}
        return Response(orjson.dumps(reply), media_type="application/json")

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
