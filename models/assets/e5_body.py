"""The body that the trained models share: the prepared encoder as a bare `BertModel`.

This module needs transformers: it is loaded by what builds a network, never by importing a package.
"""

from typing import Any


def load_body(folder: str, *, attention: str = "sdpa") -> Any:
    """The body of a prepared model folder, in fp32.

    Args:
        folder: Of a prepared model.
        attention: `sdpa`, or `eager`, which is 25 times as fast backwards on a CPU in bf16.
    """
    from transformers import BertModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    return BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation=attention)
