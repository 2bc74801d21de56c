"""Reads from a sentence-transformers folder, without loading it, whether `BertEngine` can run it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..assets.catalog import Pooling

_POOLINGS = {"mean": Pooling.MEAN, "mean_tokens": Pooling.MEAN, "cls": Pooling.CLS, "cls_token": Pooling.CLS}
_MODES = "pooling_mode_"


@dataclass(frozen=True, slots=True)
class SentenceLayout:
    """A BERT body with its pooling.

    Attributes:
        pooling: How token vectors become one.
        max_tokens: How long a text may be.
    """

    pooling: Pooling
    max_tokens: int


def read_layout(folder: Path) -> SentenceLayout | None:
    """The layout of a folder that holds a `BertModel`, a pooling and nothing else that computes; None for any other.

    Args:
        folder: As sentence-transformers writes it: `modules.json`, `config.json`, `model.safetensors`, …
    """
    config, modules = _read(folder / "config.json"), _read(folder / "modules.json")
    transformer = _read(folder / "sentence_bert_config.json") or {}
    if (
        not config
        or not modules
        or not all((folder / name).exists() for name in ("model.safetensors", "tokenizer.json"))
    ):
        return None
    is_plain_bert = (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
        and not transformer.get("do_lower_case")
    )
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    if not is_plain_bert or kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    pooling = _pooling(_read(folder / modules[1]["path"] / "config.json") or {})
    if pooling is None or modules[0]["path"]:
        return None
    tokenizer = _read(folder / "tokenizer_config.json") or {}
    limit = transformer.get("max_seq_length") or tokenizer.get("model_max_length")
    positions = int(config["max_position_embeddings"])
    return SentenceLayout(pooling, min(int(limit), positions) if limit else positions)


def _pooling(config: dict[str, Any]) -> Pooling | None:
    named = config.get("pooling_mode")
    modes = (
        [named] if named else [key.removeprefix(_MODES) for key, on in config.items() if key.startswith(_MODES) and on]
    )
    return _POOLINGS.get(modes[0]) if len(modes) == 1 and isinstance(modes[0], str) else None


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
