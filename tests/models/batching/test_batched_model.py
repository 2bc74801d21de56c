import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from memory.ports.models.language import Priority
from memory.values.errors import ModelUnavailable
from models.batching.batched_model import BatchedModel, ModelFacts


@dataclass(frozen=True)
class Word:
    text: str

    @property
    def token_count(self) -> int:
        return len(self.text)


class ShoutingModel:
    """A model that shouts; `fails_on` says with what it fails and on which words."""

    def __init__(self, *, fails_on: dict[str, Exception] | None = None, corrupt: bool = False) -> None:
        self._fails_on = fails_on or {}
        self._corrupt = corrupt
        self.batches: list[list[str]] = []

    def load(self) -> ModelFacts:
        if self._corrupt:
            raise ModelUnavailable("weights.safetensors is corrupt: its SHA-256 is not 12ab.", component="shouter")
        return ModelFacts(checksum="12ab", dtype="bf16")

    def prepare(self, inputs: Sequence[str]) -> list[Word]:
        return [Word(text) for text in inputs]

    def forward(self, prepared: Sequence[Word]) -> list[str]:
        self.batches.append([word.text for word in prepared])
        for word in prepared:
            if word.text in self._fails_on:
                raise self._fails_on[word.text]
        return [word.text.upper() for word in prepared]


async def test_concurrent_callers_get_their_own_outputs_in_order() -> None:
    model = BatchedModel("shouter", warm_up="warm", model=ShoutingModel())
    answers = await asyncio.gather(
        *(model.submit([f"a{number}", f"b{number}"], Priority.INTERACTIVE) for number in range(20))
    )
    assert answers == [[f"A{number}", f"B{number}"] for number in range(20)]
    assert model.figures()["shouter_items"] == 40
    await model.close()


async def test_it_says_which_weights_it_runs() -> None:
    model = BatchedModel("shouter", warm_up="warm", model=ShoutingModel())
    figures = model.figures()
    assert (figures["shouter_loaded"], figures["shouter_checksum"], figures["shouter_dtype"]) == (1.0, "12ab", "bf16")
    assert model.load_error == ""
    await model.close()


async def test_corrupt_weights_are_told_and_not_raised_until_somebody_asks() -> None:
    model = BatchedModel("shouter", warm_up="warm", model=ShoutingModel(corrupt=True))
    assert "corrupt" in model.load_error
    with pytest.raises(ModelUnavailable, match="corrupt"):
        await model.submit(["a"], Priority.INTERACTIVE)
    figures = model.figures()
    assert (figures["shouter_loaded"], figures["shouter_failures"]) == (0.0, 1)
    assert "corrupt" in str(figures["shouter_last_error"])
    model.check_health()  # another process would find the same file
    await model.close()


async def test_an_input_on_which_it_fails_hurts_nobody_else() -> None:
    model = BatchedModel(
        "shouter", warm_up="warm", model=ShoutingModel(fails_on={"poison": ValueError("cannot shout this")})
    )
    results = await asyncio.gather(
        *(model.submit([text], Priority.INTERACTIVE) for text in ("a", "poison", "b")), return_exceptions=True
    )
    assert results[0] == ["A"]
    assert results[2] == ["B"]
    assert isinstance(results[1], ModelUnavailable)
    assert "cannot shout this" in str(model.figures()["shouter_last_error"])
    model.check_health()
    await model.close()


async def test_what_torch_says_when_the_memory_is_full_makes_batches_smaller() -> None:
    import torch

    class SmallMemoryModel(ShoutingModel):
        def forward(self, prepared: Sequence[Word]) -> list[str]:
            if len(prepared) > 2:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().forward(prepared)

    model = BatchedModel("shouter", warm_up="warm", model=SmallMemoryModel())
    texts = [f"word{number}" for number in range(16)]
    assert await model.submit(texts, Priority.BATCH) == [text.upper() for text in texts]
    assert model.figures()["shouter_failures"] == 0
    await model.close()
