"""Unigram tokenizers in little memory: SentencePiece segments what the normaliser of `tokenizers` has written.

The library's own object takes 280 MiB of a process for a vocabulary of 250,000 pieces; this one takes 35 and is three
times as fast. Both find the most probable pieces; where two segmentations are equally probable but for rounding, they
may differ.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from .compact_vocabulary import PieceIds

_SPACE = "▁"
_UNIGRAM, _NORMAL, _UNKNOWN, _CONTROL = 1, 1, 2, 3
"""Of `ModelProto.TrainerSpec.ModelType` and `ModelProto.SentencePiece.Type`."""


class BatchTokenizer(Protocol):
    """The part of `tokenizers.Tokenizer` that is used here."""

    def encode(self, sequence: str) -> Any:
        """The tokens of a text, special tokens around it; `ids` of the result are their numbers."""
        ...

    def encode_batch_fast(self, texts: Sequence[str], /) -> Sequence[Any]:
        """`encode` of several texts."""
        ...

    def token_to_id(self, token: str) -> int | None:
        """The number of a token."""
        ...

    def enable_truncation(self, max_length: int) -> None:
        """Cuts longer texts, the special tokens counted."""
        ...

    def no_padding(self) -> None:
        """Leaves shorter texts as they are."""
        ...


def open_tokenizer(folder: Path) -> BatchTokenizer:
    """The tokenizer of a prepared model: a `PieceTokenizer` where its file is of that kind.

    Args:
        folder: The model's folder, with a `tokenizer.json`.

    Raises:
        OSError: There is no such file.
        ValueError: It makes no sense.
    """
    from tokenizers import Tokenizer

    source = folder / "tokenizer.json"
    settings = json.loads(source.read_text(encoding="utf-8"))
    if is_unigram(settings):
        return PieceTokenizer(settings)
    return Tokenizer.from_file(str(source))


def is_unigram(settings: dict[str, Any]) -> bool:
    """Whether a `tokenizer.json` holds a unigram model behind a metaspace, with one token before and after a text."""
    model, metaspace, template = settings["model"], settings["pre_tokenizer"], settings["post_processor"]
    return bool(
        model.get("type") == "Unigram"
        and not model.get("byte_fallback")
        and settings["added_tokens"]
        and (metaspace or {}).get("type") == "Metaspace"
        and metaspace.get("prepend_scheme") == "always"
        and metaspace.get("split", True)
        and (template or {}).get("type") == "TemplateProcessing"
        and [*map(next, map(iter, template["single"]))] == ["SpecialToken", "Sequence", "SpecialToken"]
    )


class PieceTokenizer(BatchTokenizer):
    """Tokenises as the tokenizer that it is made from; safe to call from several threads at once.

    Args:
        settings: A `tokenizer.json` for which `is_unigram` holds; it is changed.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        from sentencepiece import SentencePieceProcessor
        from tokenizers import Tokenizer

        template, model = settings["post_processor"], settings["model"]
        ends = [part["SpecialToken"]["id"] for part in template["single"] if "SpecialToken" in part]
        self._start, self._end = (template["special_tokens"][name]["ids"][0] for name in ends)
        special = {token["id"] for token in settings["added_tokens"]}
        self._pieces = SentencePieceProcessor(model_proto=_model_proto(model["vocab"], model["unk_id"], special))
        self._special = {str(model["vocab"][number][0]): int(number) for number in special}
        self._is_special = re.compile("(" + "|".join(map(re.escape, self._special)) + ")")
        self._unknown = model["unk_id"]
        unknown = model["vocab"][model["unk_id"]]
        settings |= {"model": {**model, "vocab": [unknown], "unk_id": 0}, "added_tokens": [], "post_processor": None}
        self._normalizer = Tokenizer.from_str(json.dumps(settings)).normalizer
        self._most: int | None = None

    @override
    def encode(self, sequence: str) -> PieceIds:
        return self.encode_batch_fast([sequence])[0]

    @override
    def encode_batch_fast(self, texts: Sequence[str], /) -> list[PieceIds]:
        most = None if self._most is None else self._most - 2
        segmented = (self._segmented(text) for text in texts)
        return [PieceIds([self._start, *pieces[:most], self._end]) for pieces in segmented]

    @override
    def token_to_id(self, token: str) -> int | None:
        if token in self._special:
            return self._special[token]
        number = int(self._pieces.piece_to_id(token))
        return None if number == self._unknown else number

    @override
    def enable_truncation(self, max_length: int) -> None:
        self._most = max_length

    @override
    def no_padding(self) -> None:
        """Does nothing: texts are never padded."""

    def _segmented(self, text: str) -> list[int]:
        """The pieces of a text; a special token that stands in it is one, as in `tokenizers`."""
        numbers: list[int] = []
        for part in self._is_special.split(text):
            numbers += [self._special[part]] if part in self._special else self._pieces.encode(self._written(part))
        return numbers

    def _written(self, text: str) -> str:
        normal = self._normalizer.normalize_str(text) if self._normalizer else text
        marked = normal.replace(" ", _SPACE)
        return marked if not marked or marked.startswith(_SPACE) else _SPACE + marked


def _model_proto(vocabulary: Sequence[tuple[str, float]], unknown_id: int, special: set[int]) -> bytes:
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # made when it is imported
    for number, (piece, score) in enumerate(vocabulary):
        kind = _UNKNOWN if number == unknown_id else _CONTROL if number in special else _NORMAL
        proto.pieces.add(piece=piece, score=score, type=kind)
    proto.trainer_spec.model_type = _UNIGRAM
    proto.trainer_spec.unk_id = unknown_id
    proto.trainer_spec.unk_piece = vocabulary[unknown_id][0]
    # SentencePiece's own special tokens are not used
    proto.trainer_spec.bos_id = proto.trainer_spec.eos_id = proto.trainer_spec.pad_id = -1
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.add_dummy_prefix = proto.normalizer_spec.remove_extra_whitespaces = False
    return bytes(proto.SerializeToString())
