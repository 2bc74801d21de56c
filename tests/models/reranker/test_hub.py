"""Cross-encoders of the hub, on a tiny one in a cache that looks as the hub's client leaves it."""

from pathlib import Path

import pytest

from memory.values.errors import ModelUnavailable
from models.reranker.hub import DEFAULT_HUB_RERANKER, HubCrossEncoder

PAIRS = [("a b", "b a"), ("a b", "c"), ("a b", "a \ud800 b c " * 400)]


def _write_model(folder: Path, labels: int) -> None:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    torch.manual_seed(0)
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<s>", "</s>", "<unk>", "a", "b", "c"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        cls_token="<s>",
        sep_token="</s>",
        unk_token="<unk>",
        model_max_length=128,
    ).save_pretrained(folder)
    config = BertConfig(
        vocab_size=7,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=130,
        pad_token_id=0,
    )
    config.num_labels = labels
    BertForSequenceClassification(config).save_pretrained(folder)


def cached(cache: Path, labels: int = 1) -> HubCrossEncoder:
    """A reranker `lab/tiny` that is in the cache already."""
    home = cache / "hub" / "models--lab--tiny"
    commit = "0" * 40
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(commit)
    (home / "snapshots" / commit).mkdir(parents=True)
    _write_model(home / "snapshots" / commit, labels)
    return HubCrossEncoder("lab/tiny", cache, threads=1, offline=True)


def test_a_model_in_the_cache_scores_pairs(tmp_path: Path) -> None:
    encoder = cached(tmp_path)
    prepared = encoder.prepare(PAIRS)
    assert [request.token_count for request in prepared[:2]] == [7, 6]
    assert prepared[2].token_count <= 128
    scores = encoder.forward(prepared)
    assert len(scores) == 3
    assert all(0 < score < 1 for score in scores)
    assert encoder.score(PAIRS) == pytest.approx(scores)
    assert encoder.score(PAIRS[1:2]) == pytest.approx(scores[1:2], abs=1e-5)
    assert encoder.score([]) == []


def test_a_hub_that_cannot_be_reached_is_said_with_what_to_do(tmp_path: Path) -> None:
    encoder = HubCrossEncoder(DEFAULT_HUB_RERANKER, tmp_path, offline=True)
    with pytest.raises(
        ModelUnavailable, match=rf"{DEFAULT_HUB_RERANKER}.*models\.assets\.prepare.*reranking off"
    ) as caught:
        encoder.score(PAIRS)
    assert caught.value.component == "reranker"


def test_a_model_that_is_no_reranker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="gives 3 scores"):
        cached(tmp_path, labels=3).load()


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    encoder = cached(tmp_path)
    [config] = tmp_path.rglob("config.json")
    config.write_text("{}")
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        encoder.load()
