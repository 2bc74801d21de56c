"""Turns the bundled 4-bit weights of multilingual-e5-small into a normal sentence-transformers folder.

Two things are as in the original model rather than as in the engine of the package that bundles the weights: a run of
unknown characters is one `<unk>`, and decomposed accents are composed (SentencePiece's nmt_nfkc does both).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .charsmap import compile_charsmap
from .e5_bundle import E5Bundle, E5Shape, E5Vocabulary

Progress = Callable[[str, float], None]
"""Told what is being done and how much of the whole is done, 0 to 1."""

_LAYER_TENSORS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


def write_model_folder(source: Path, folder: Path, progress: Progress) -> None:
    """Dequantises a bundle into a folder that `SentenceTransformer(str(folder))` loads.

    Args:
        source: The `E5S1` file.
        folder: An existing, empty folder.
        progress: Called with the progress.

    Raises:
        ModelUnavailable: The bundle is broken.
    """
    from safetensors.numpy import save_file

    progress("reading the bundled weights", 0.0)
    bundle = E5Bundle(source)
    progress("writing the tokenizer", 0.1)
    _write_tokenizer(bundle.vocabulary, bundle.shape, folder)
    progress("dequantising", 0.4)
    tensors = _tensors(bundle)
    progress("writing the weights", 0.6)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    _write_configs(bundle.shape, bundle.vocabulary, folder)


def _write_tokenizer(vocabulary: E5Vocabulary, shape: E5Shape, folder: Path) -> None:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    names = {role: vocabulary.pieces[getattr(vocabulary, role)][0] for role in ("bos", "eos", "pad", "unk")}
    tokenizer = Tokenizer(Unigram(vocabulary.pieces, unk_id=vocabulary.unk, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(compile_charsmap(vocabulary.replacements)),
            normalizers.NFC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{names['bos']} $A {names['eos']}",
        pair=f"{names['bos']} $A {names['eos']} {names['eos']} $B {names['eos']}",
        special_tokens=[(names["bos"], vocabulary.bos), (names["eos"], vocabulary.eos)],
    )
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in names.values()])
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": shape.positions,
            "model_input_names": ["input_ids", "attention_mask"],
            "clean_up_tokenization_spaces": False,
            "bos_token": names["bos"],
            "cls_token": names["bos"],
            "eos_token": names["eos"],
            "sep_token": names["eos"],
            "pad_token": names["pad"],
            "unk_token": names["unk"],
        },
    )


def _tensors(bundle: E5Bundle) -> dict[str, npt.NDArray[np.float32]]:
    shape = bundle.shape
    hidden, inner = shape.hidden, shape.feed_forward
    tensors = {
        "embeddings.word_embeddings.weight": bundle.tensor("emb.word", (shape.vocabulary, hidden)),
        "embeddings.position_embeddings.weight": bundle.tensor("emb.pos", (shape.positions, hidden)),
        "embeddings.token_type_embeddings.weight": bundle.tensor("emb.type", (shape.token_types, hidden)),
        "embeddings.LayerNorm.weight": bundle.tensor("emb.ln.w", (hidden,)),
        "embeddings.LayerNorm.bias": bundle.tensor("emb.ln.b", (hidden,)),
    }
    for layer in range(shape.layers):
        for short, long in _LAYER_TENSORS.items():
            rows = inner if short == "fi" else hidden
            columns = inner if short == "fo" else hidden
            weight_shape = (rows,) if short.endswith("ln") else (rows, columns)
            name = f"encoder.layer.{layer}.{long}"
            tensors[f"{name}.weight"] = bundle.tensor(f"l{layer}.{short}.w", weight_shape)
            tensors[f"{name}.bias"] = bundle.tensor(f"l{layer}.{short}.b", (rows,))
    return tensors


def _write_configs(shape: E5Shape, vocabulary: E5Vocabulary, folder: Path) -> None:
    _write_json(
        folder / "config.json",
        {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "dtype": "float32",
            "hidden_act": "gelu",
            "hidden_size": shape.hidden,
            "intermediate_size": shape.feed_forward,
            "layer_norm_eps": shape.epsilon,
            "max_position_embeddings": shape.positions,
            "num_attention_heads": shape.heads,
            "num_hidden_layers": shape.layers,
            "pad_token_id": vocabulary.pad,
            "type_vocab_size": shape.token_types,
            "vocab_size": shape.vocabulary,
        },
    )
    # The bundle has no pooler, and mean pooling needs none.
    _write_json(
        folder / "sentence_bert_config.json",
        {"max_seq_length": shape.positions, "model_kwargs": {"add_pooling_layer": False}},
    )
    modules = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    _write_json(
        folder / "modules.json",
        [
            {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"}
            for index, (path, name) in enumerate(modules)
        ],
    )
    for path, _ in modules[1:]:
        (folder / path).mkdir()
    _write_json(
        folder / "1_Pooling" / "config.json",
        {"word_embedding_dimension": shape.hidden, "pooling_mode_mean_tokens": True},
    )
    _write_json(folder / "2_Normalize" / "config.json", {})


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
