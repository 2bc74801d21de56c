"""Which of the service's own sentences a reply is: they tell the kind of a reply that quotes nothing.

The service says of a reply what it quotes (`sources`), and of a message its intents, but not of which kind its reply
is. Its sentences are fields of `Phrases`, so the name of the field is that kind, whatever its words in any language.
"""

import re
from collections.abc import Mapping

from memory.language.phrases import ENGLISH, SIMPLIFIED, TRADITIONAL

from .scenarios import Kind

OWN_SENTENCES: Mapping[Kind, tuple[str, ...]] = {
    Kind.GREETING: ("greeting", "how_i_am"),
    Kind.FAREWELL: ("farewell",),
    Kind.THANKS: ("thanks",),
    Kind.ACKNOWLEDGEMENT: ("acknowledged", "confirmed", "chitchat"),
    Kind.REQUEST: ("request", "request_with_facts"),
    Kind.OPINION: ("opinion",),
    Kind.GENERAL: ("general",),
    Kind.ASSISTANT: ("who_i_am", "how_i_am"),
    Kind.PRESENT: ("general",),
}
"""By type of message the names of the sentences that answer it."""
_NAMES = tuple(dict.fromkeys(name for names in OWN_SENTENCES.values() for name in names))
_FILLED = re.compile(r"\\\{\w+\\\}")


def name_sentence(reply: str) -> str | None:
    """The name of the sentence that the first line is, of those that answer what is not for memory; else None."""
    first, *_ = (*reply.strip().splitlines(), "")
    for phrases in (TRADITIONAL, SIMPLIFIED, ENGLISH):
        for name in _NAMES:
            sentence: str = getattr(phrases, name)
            if re.fullmatch(_FILLED.sub(".+", re.escape(sentence)), first):
                return name
    return None
