"""The gate for bf16, which is served where the CPU supports it and the outputs stay close to fp32 (DESIGN §5).

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Callable

import structlog
import torch
from torch import Tensor
from torch.nn import functional

LOWEST_COSINE = 0.99
"""Least cosine between an output row in bf16 and in fp32."""

PROBES = (
    "我們公司上個月買了 AI-Box，放在三樓機房，王小明負責。",
    "上次说的那个系统，北京分公司什么时候上线？",
    "Dr. Smith moved from Boston to the Berlin office of Acme Corp. last week; where is she now?",
    "RM05-008 與 v2.3.1",
    "Où est le contrat ? 契約書は金曜日に届きました。계약서는 어디에 있나요?",
    "short",
)
_log = structlog.get_logger(__name__)


def has_fast_bf16() -> bool:
    """Whether this CPU multiplies bf16 matrices faster than fp32 ones."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def passes_gate(fast: Callable[[str], Tensor], exact: Callable[[str], Tensor], *, component: str) -> bool:
    """Whether the outputs in bf16 are close to those in fp32, on a fixed sample in several languages.

    Args:
        fast: Computes the output for a text in bf16, shape (rows, width).
        exact: Computes it in fp32.
        component: The network's name in the log.
    """
    with torch.inference_mode():
        cosines = [functional.cosine_similarity(fast(probe), exact(probe), dim=-1).min().item() for probe in PROBES]
    passed = min(cosines) >= LOWEST_COSINE
    _log.info("bf16_gate", component=component, lowest_cosine=round(min(cosines), 5), passed=passed)
    return passed
