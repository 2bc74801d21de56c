"""Whether the words of a message ask to forget something, in Chinese and English."""

import re

_ASKING = re.compile(
    r"\b(?:forget|delete|erase|remove|wipe|scrap|drop|purge|strike|unlearn|un-?save|clear|bin|lose|stop"
    r"|don't (?:\w+ )?(?:keep|store|save|remember|record)|no longer want|no need to keep"
    r"|scratch|shred|discard|dispose|burn|blank out|throw (?:\w+ )?out|let go|get rid|be kept|hold(?:ing)? on ?to)\b"
    r"|忘|删|清[除空掉了一]|移除|抹[掉了去]|[去拿划丢砍洗扔]掉|[丢扔]了|销毁|收回|撤[回销]|取消|不算数|当.{0,3}没"
    r"|[别不莫].{0,4}[存提记留]|不(?:用|需要|要再?|让你)知道"
)
"""Words that ask to forget, in folded text."""


def has_forget_word(folded: str) -> bool:
    """Whether a folded text has a word for forgetting."""
    return _ASKING.search(folded) is not None
