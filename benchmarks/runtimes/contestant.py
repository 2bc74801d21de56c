"""One runtime in an environment of its own: reads the name of a workload a line, answers with the seconds it took.

    python contestant.py RUNTIME FOLDER THREADS WORKLOADS.json VECTORS.npy

`RUNTIME` is one of `RUNTIMES`; `FOLDER` a prepared model as transformers reads it. A workload is a list of batches of
token ids; the vectors of the one called `gate` are written before the first answer. Knows nothing of Jiyi.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[Any, Any], Any]
"""Token ids and mask, shape (texts, tokens) → hidden states, shape (texts, tokens, dimension)."""


def onnx_file(folder: Path, out: Path) -> Path:
    """The model's graph, exported by torch unless it is there."""
    import torch
    from transformers import AutoModel

    if not out.exists():
        model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
        ids = torch.ones(2, 8, dtype=torch.int64)
        mask = torch.tensor([[1] * 8, [1] * 5 + [0] * 3])  # where all is seen, no mask gets into the graph
        size = {0: torch.export.Dim("texts", min=1, max=512), 1: torch.export.Dim("tokens", min=2, max=512)}
        torch.onnx.export(
            model,
            (ids, mask),
            str(out),
            input_names=["input_ids", "attention_mask"],
            output_names=["hidden", "pooled"],
            dynamic_shapes={"input_ids": size, "attention_mask": size},
            dynamo=True,
            external_data=False,
        )
    return out


def onnxruntime_run(path: Path, threads: int) -> Run:
    """ONNX Runtime's CPU provider with all graph optimisations; it has no bf16 there."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(["hidden"], {"input_ids": ids, "attention_mask": mask})[0]


def int8_file(path: Path) -> Path:
    """The same graph with dynamically quantised products, a scale for each output channel."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    out = path.with_suffix(".int8.onnx")
    if not out.exists():
        quantize_dynamic(str(path), str(out), weight_type=QuantType.QInt8, per_channel=True)
    return out


def openvino_run(path: Path, threads: int, precision: str) -> Run:
    """OpenVINO's CPU plugin for latency: one stream, all threads in it."""
    import openvino

    core = openvino.Core()
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": precision,
        "NUM_STREAMS": 1,
    }
    request = core.compile_model(core.read_model(path), "CPU", settings).create_infer_request()
    return lambda ids, mask: request.infer({"input_ids": ids, "attention_mask": mask})["hidden"]


def torch_run(folder: Path, threads: int) -> Run:
    """The transformers library as it comes, in fp32: the reference."""
    import torch
    from transformers import AutoModel

    torch.set_num_threads(threads)
    model = AutoModel.from_pretrained(folder).eval()

    def run(ids: Any, mask: Any) -> Any:
        with torch.inference_mode():
            hidden = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state
        return hidden.numpy()

    return run


RUNTIMES: dict[str, Callable[[Path, Path, int], Run]] = {
    "transformers fp32": lambda folder, _, threads: torch_run(folder, threads),
    "onnxruntime fp32": lambda folder, out, threads: onnxruntime_run(onnx_file(folder, out), threads),
    "onnxruntime int8": lambda folder, out, threads: onnxruntime_run(int8_file(onnx_file(folder, out)), threads),
    "openvino fp32": lambda folder, out, threads: openvino_run(onnx_file(folder, out), threads, "f32"),
    "openvino bf16": lambda folder, out, threads: openvino_run(onnx_file(folder, out), threads, "bf16"),
}


def encode(run: Run, batches: list[list[list[int]]]) -> Any:
    """Mean-pooled unit vectors, shape (texts, dimension), float32."""
    vectors = []
    for batch in batches:
        ids = np.full((len(batch), max(map(len, batch))), 0, np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        pooled = (run(ids, mask) * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        vectors.append(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
    return np.concatenate(vectors).astype(np.float32)


def main() -> None:
    """Serves until standard input ends."""
    runtime, folder, threads, workloads, vectors = sys.argv[1:]
    batches = json.loads(Path(workloads).read_text())
    run = RUNTIMES[runtime](Path(folder), Path(vectors).with_name("model.onnx"), int(threads))
    np.save(vectors, encode(run, batches["gate"]))
    print("ready", flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        encode(run, batches[line.strip()])
        print(time.perf_counter() - begin, flush=True)


if __name__ == "__main__":
    main()
