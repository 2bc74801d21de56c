"""Texts that lie end to end: every token in its place, attention within its own text."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from models.body.attention import attend
from models.body.packed_linear import PackedLinear
from models.body.unpadded import Unpadded

LENGTHS = st.lists(st.integers(1, 70), min_size=1, max_size=12).map(lambda lengths: sorted(lengths, reverse=True))
HEADS, WIDTH = 2, 8


def own_attention(qkv: Tensor, lengths: list[int]) -> Tensor:
    """Each text on its own, in double precision."""
    outputs = []
    for text in qkv.double().split(lengths):
        query, key, value = text.view(len(text), 3, HEADS, WIDTH).permute(1, 2, 0, 3)
        weights = (query @ key.transpose(1, 2) / WIDTH**0.5).softmax(-1)
        outputs.append((weights @ value).transpose(0, 1).flatten(1))
    return torch.cat(outputs).float()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
@settings(max_examples=30)
@given(LENGTHS)
def test_a_token_attends_to_its_own_text_only(dtype: torch.dtype, tolerance: float, lengths: list[int]) -> None:
    layout = Unpadded(lengths)
    drawn = torch.randn(layout.rows, 3 * HEADS * WIDTH, generator=torch.Generator().manual_seed(sum(lengths)))
    qkv = drawn.to(dtype)
    mixed = attend(qkv, layout, HEADS)
    assert (mixed[: layout.tokens].float() - own_attention(qkv[: layout.tokens], lengths)).abs().max() < tolerance


@settings(max_examples=30)
@given(LENGTHS)
def test_groups_hold_every_row_once_in_order(lengths: list[int]) -> None:
    layout = Unpadded(lengths)
    assert [row for group in layout.groups for row in range(group.rows.start, group.rows.stop)] == list(
        range(layout.tokens)
    )
    assert sum(group.texts for group in layout.groups) >= len(lengths)


@given(st.integers(1, 100_000))
def test_few_rows_are_computed_that_hold_no_token(tokens: int) -> None:
    layout = Unpadded([tokens])
    assert tokens <= layout.rows < tokens * 9 / 8 + 8


def test_there_are_few_shapes_for_the_matrix_library_to_compile() -> None:
    assert len({Unpadded([tokens]).rows for tokens in range(1, 1025)}) <= 41
    assert len({group.length for length in range(1, 513) for group in Unpadded([length]).groups}) <= 20
    assert len({group.texts for texts in range(1, 65) for group in Unpadded([7] * texts).groups}) <= 12


def test_texts_of_one_length_are_not_padded() -> None:
    (group,) = Unpadded([8, 8, 8]).groups
    assert (group.texts, group.length, group.padding) == (3, 8, None)


@settings(max_examples=30)
@given(LENGTHS)
def test_the_mean_of_a_text_is_over_its_own_rows(lengths: list[int]) -> None:
    states = torch.randn(sum(lengths), 4, generator=torch.Generator().manual_seed(0))
    expected = torch.stack([text.mean(0) for text in states.split(lengths)])
    torch.testing.assert_close(Unpadded(lengths).mean(states), expected)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.03)])
def test_packed_weights_compute_what_plain_ones_compute(dtype: torch.dtype, tolerance: float) -> None:
    torch.manual_seed(0)
    plain, packed = PackedLinear(16, 24), PackedLinear(16, 24)
    state = {"weight": torch.randn(24, 16).to(dtype) / 4, "bias": torch.randn(24).to(dtype)}
    states, residual = torch.randn(5, 16).to(dtype), torch.randn(5, 24).to(dtype)
    for product in (plain, packed):
        product.load_state_dict(state, assign=True)
        product.requires_grad_(False)
    packed.pack()
    expected = functional.linear(states.float(), state["weight"].float(), state["bias"].float())
    for product in (plain, packed):
        torch.testing.assert_close(product(states).float(), expected, atol=tolerance, rtol=tolerance)
        torch.testing.assert_close(
            product.gelu(states).float(), functional.gelu(expected), atol=tolerance, rtol=tolerance
        )
        torch.testing.assert_close(
            product.add(states, residual).float(), expected + residual.float(), atol=tolerance, rtol=tolerance
        )
