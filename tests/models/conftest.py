import struct
import threading
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from memory.ports.models.language import FloatMatrix, TextKind
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.encoder.bert_engine import BertEngine
from models.encoder.engine import EncoderEngine
from models.encoder.sentence_layout import read_layout
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine
from models.encoder.text_tokenizer import TokenizedText
from testing.fakes.encoder import FakeEncoderEngine


@pytest.fixture(scope="session")
def e5(e5_folder: Path) -> SentenceTransformerEngine:
    """The fp32 reference."""
    return SentenceTransformerEngine(get_model(DEFAULT_MODEL), e5_folder, threads=1)


@pytest.fixture(scope="session")
def exact_e5(e5_folder: Path) -> BertEngine:
    return bert_engine(e5_folder, is_exact=True)


@pytest.fixture(scope="session")
def served_e5(e5_folder: Path) -> BertEngine:
    """As it is served on this machine: in bf16 where the CPU multiplies it."""
    return bert_engine(e5_folder)


def bert_engine(folder: Path, *, is_exact: bool = False) -> BertEngine:
    layout = read_layout(folder)
    assert layout is not None
    return BertEngine(get_model(DEFAULT_MODEL), folder, layout, threads=1, is_exact=is_exact)


ENGINES = {"reference": "e5", "exact": "exact_e5", "served": "served_e5"}
"""Every engine of the default model, by the fixture that loads it."""


@pytest.fixture(params=ENGINES)
def e5_engine(request: pytest.FixtureRequest) -> EncoderEngine:
    engine: EncoderEngine = request.getfixturevalue(ENGINES[request.param])
    return engine


def tolerance(engine: EncoderEngine) -> float:
    """How far a component of a vector may lie from what fp32 gives: bf16 keeps 8 bits."""
    return 4e-3 if engine.dtype == "bf16" else 2e-6


class ControlledEngine(FakeEncoderEngine):
    """One token a word. Records each batch, lets a test hold batches back, and does what a test wants on a batch.

    `hook` is called with the words of each text of a batch.
    """

    def __init__(self) -> None:
        super().__init__(dimension=8, model_id="controlled")
        self.batches: list[list[str]] = []
        self.hook: Callable[[list[str]], None] = lambda texts: None
        self.started = threading.Semaphore(0)
        self.permits: threading.Semaphore | None = None
        self._words: dict[int, str] = {}

    def prepare(self, texts: Sequence[str], kind: TextKind) -> list[TokenizedText]:
        tokenized = []
        for text in texts:
            if text == "unreadable":
                raise ValueError("cannot tokenise this")
            ids = [zlib.crc32(word.encode()) for word in text.split()]
            self._words.update(zip(ids, text.split(), strict=True))
            tokenized.append(TokenizedText(np.array(ids, np.int64)))
        return tokenized

    def forward(self, batch: Sequence[TokenizedText]) -> FloatMatrix:
        texts = [" ".join(self._words[number] for number in text.input_ids.tolist()) for text in batch]
        self.batches.append(texts)
        self.started.release()
        if self.permits is not None:
            assert self.permits.acquire(timeout=30)
        self.hook(texts)
        return super().forward(batch)


@pytest.fixture
def engine() -> ControlledEngine:
    return ControlledEngine()


def write_tiny_bundle(path: Path, *, seed: int = 0, layers: int = 1) -> dict[str, np.ndarray]:
    """Writes a small E5S1 file and returns the values that its tensors stand for."""
    random = np.random.default_rng(seed)
    hidden, inner, positions = 32, 64, 16
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *["▁query", "▁passage", ":", "a", "b", "c", "中", "文", "é", "▁a"]]
    scores = [0.0] * 4 + [-5.0] * (len(pieces) - 4)
    replacements = {"Ａ": "a", "\t": " ", "\x01": "", "㍿": "株式"}

    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (len(pieces) + 1, hidden),
        "emb.pos": (positions, hidden),
        "emb.type": (2, hidden),
        "emb.ln.w": (hidden,),
        "emb.ln.b": (hidden,),
    }
    for layer in range(layers):
        for name, rows, columns in (
            ("q", hidden, hidden),
            ("k", hidden, hidden),
            ("v", hidden, hidden),
            ("ao", hidden, hidden),
            ("fi", inner, hidden),
            ("fo", hidden, inner),
        ):
            shapes[f"l{layer}.{name}.w"] = (rows, columns)
            shapes[f"l{layer}.{name}.b"] = (rows,)
        for name in ("aln", "oln"):
            shapes[f"l{layer}.{name}.w"] = shapes[f"l{layer}.{name}.b"] = (hidden,)

    blob = [piece.encode() for piece in pieces]
    offsets = np.cumsum([0, *map(len, blob)]).astype("<u4")
    mapping = b"".join(
        struct.pack(f"<IB{len(value)}I", ord(key), len(value), *map(ord, value))
        for key, value in sorted(replacements.items())
    )
    head = b"E5S1" + struct.pack("<I7ifi", 1, hidden, layers, 4, inner, len(pieces) + 1, positions, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, len(b"".join(blob)))
    head += offsets.tobytes() + np.array(scores, "<f4").tobytes() + b"".join(blob)
    head += struct.pack("<iI", len(replacements), len(mapping)) + mapping

    values, payload, directory = {}, b"", []
    for name, shape in shapes.items():
        count = int(np.prod(shape))
        if len(shape) == 2 and name not in ("emb.pos", "emb.type"):
            nibbles = random.integers(0, 16, (count // 32, 32), dtype=np.uint8)
            scales = random.uniform(0.01, 0.1, (count // 32, 1)).astype("<f2")
            packed = nibbles[:, :16] | (nibbles[:, 16:] << 4)
            raw = np.concatenate([scales.view(np.uint8).reshape(-1, 2), packed], axis=1).tobytes()
            values[name] = ((nibbles.astype(np.float32) - 8) * scales.astype(np.float32)).reshape(shape)
        else:
            values[name] = random.normal(size=shape).astype("<f4")
            raw = values[name].tobytes()
        directory.append(
            (name, int(len(shape) == 2 and name not in ("emb.pos", "emb.type")), count, len(payload), len(raw))
        )
        payload += raw
    size = len(head) + 4 + sum(2 + len(name) + 21 for name, *_ in directory)
    listing = struct.pack("<i", len(directory)) + b"".join(
        struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, size + offset, length)
        for name, kind, count, offset, length in directory
    )
    path.write_bytes(head + listing + payload)
    return values


@pytest.fixture
def tiny_bundle(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.bin"
    write_tiny_bundle(path)
    return path


@pytest.fixture(scope="session")
def write_bundle() -> Callable[..., dict[str, np.ndarray]]:
    return write_tiny_bundle


@pytest.fixture(params=["fake", *ENGINES])
def any_engine(request: pytest.FixtureRequest) -> EncoderEngine:
    """Every engine keeps one contract."""
    if request.param == "fake":
        return FakeEncoderEngine(dimension=64)
    engine: EncoderEngine = request.getfixturevalue(ENGINES[request.param])
    return engine
