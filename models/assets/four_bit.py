"""Small integers for weights: groups of values share a scale.

The body is kept as its difference from the prepared weights, which is small and rounds well, in 4 bits; the heads in 8.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

GROUP = 64
_CLIPS = np.linspace(0.6, 1.0, 9, dtype=np.float32)
Bits = Literal[4, 8]
Floats = npt.NDArray[np.float32]


def pack(values: Floats, bits: Bits) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float16]]:
    """Rounds values to `bits`, each group with the scale that loses least.

    Args:
        values: Any shape.
        bits: 4 or 8.

    Returns:
        The packed values, shape (bytes,), and the scales, shape (groups,).
    """
    most = 2 ** (bits - 1) - 1
    flat = values.ravel()
    groups = np.pad(flat, (0, -len(flat) % GROUP)).reshape(-1, GROUP)
    peak = np.abs(groups).max(axis=1)
    best_scale = np.zeros(len(groups), np.float16)
    best_loss = np.full(len(groups), np.inf, np.float32)
    for clip in _CLIPS if bits == 4 else (1.0,):
        scale = (peak * clip / most).astype(np.float16)
        loss = ((_rounded(groups, scale, most) * scale[:, None] - groups) ** 2).sum(axis=1)
        better = loss < best_loss
        best_scale[better], best_loss[better] = scale[better], loss[better]
    whole = (_rounded(groups, best_scale, most) + most + 1).astype(np.uint8).ravel()
    if bits == 4:
        whole = whole[0::2] | (whole[1::2] << 4)
    return whole, best_scale


def unpack(
    packed: npt.NDArray[np.uint8], scales: npt.NDArray[np.float16], shape: tuple[int, ...], bits: Bits
) -> Floats:
    """What `pack` rounded, in its shape."""
    if bits == 4:
        packed = np.stack([packed & 15, packed >> 4], axis=1).ravel()
    groups = packed.reshape(-1, GROUP).astype(np.float32) - 2 ** (bits - 1)
    flat: Floats = (groups * scales[:, None].astype(np.float32)).ravel()
    return flat[: int(np.prod(shape))].reshape(shape)


def _rounded(groups: Floats, scale: npt.NDArray[np.float16], most: int) -> Floats:
    safe = np.where(scale > 0, scale, 1).astype(np.float32)
    rounded: Floats = np.clip(np.rint(groups / safe[:, None]), -most - 1, most)
    return rounded
