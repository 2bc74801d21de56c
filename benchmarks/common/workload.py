"""The texts that benchmarks send, and the highest speed of the machine."""

import random
import time
from collections.abc import Callable
from typing import Any

SENTENCES = (
    "宏康的報價單什麼時候會好？",
    "上次說的那個客戶後來怎麼樣了。",
    "我們下週三要去台中開會，順便看一下新的倉庫。",
    "他说这个产品的付款条件可以再谈，但是交货时间不能改。",
    "请把昨天的会议记录发给我，还有那份合同。",
    "Can you remind me what we agreed on with the supplier?",
    "The quotation was sent on Friday, and they have not answered yet.",
    "She prefers tea to coffee, and never after six in the evening.",
    "Please move the appointment to next Tuesday at half past nine.",
    "版本 v2.3.1 的 release note 要先給 QA 看過。",
)
QUERIES = ("它什麼時候會好？", "那個客戶後來怎麼樣了？", "what did we agree on with them?", "他喜歡喝什麼")
_ASKED = (
    "{}什麼時候會好？",
    "{}放在哪裡？",
    "上次說的{}後來怎麼樣了？",
    "{}的付款条件是什么？",
    "谁负责{}？",
    "when is {} due?",
    "what did we agree on about {}?",
    "who has {} now?",
)
_ASKED_ABOUT = (
    *("報價單", "那個客戶", "新的倉庫", "AI-Box", "合約", "会议记录", "客户名单", "备用钥匙"),
    *("the quotation", "the appointment", "the supplier", "the spare key", "the release note", "the old laptop"),
)
_TOKENS_PER_SENTENCE = 13
_FLOP_PER_TOKEN, _FLOP_PER_TOKEN_AND_LENGTH = 42.5e6, 18_432


def mixed_texts(count: int) -> list[str]:
    """Half Chinese, half English, with the long tail that chat turns have: most short, a few cut at 512 tokens."""
    chooser = random.Random(7)
    texts = []
    for _ in range(count):
        tokens = min(chooser.lognormvariate(3.6, 0.9), 600)
        texts.append(" ".join(chooser.choices(SENTENCES, k=max(1, round(tokens / _TOKENS_PER_SENTENCE)))))
    return texts


def short_queries(count: int) -> list[str]:
    """Questions as people type them, five in eight in Chinese: 112 different ones, 10 to 17 tokens with the prefix."""
    chooser = random.Random(11)
    return [chooser.choice(_ASKED).format(chooser.choice(_ASKED_ABOUT)) for _ in range(count)]


def matmul_flops() -> float:
    """What this machine reaches on a product of the body's largest shape: (1024, 384) by (384, 1536)."""
    import torch

    rows, weights = torch.rand(1024, 384), torch.rand(384, 1536)
    repeats = 20
    took = seconds(lambda: [rows @ weights for _ in range(repeats)])
    return repeats * 2 * 1024 * 384 * 1536 / took


def seconds(work: Callable[[], Any]) -> float:
    """The seconds that a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def ceiling_tokens_per_s(flops: float, mean_length: float) -> float:
    """Tokens a second that the default model can reach where nothing but its matrix products takes time."""
    return flops / (_FLOP_PER_TOKEN + _FLOP_PER_TOKEN_AND_LENGTH * mean_length)
