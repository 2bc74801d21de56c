"""Styles of dialogue: how a reply is to sound, chosen by what the message is for (003 §3.1)."""

from collections.abc import Collection, Mapping

from ..values.understanding.readings import Intent

STYLES: Mapping[str, str] = {
    "informative": "Answer first, in one or two sentences; then, only if it helps, one sentence of explanation.",
    "helpful": "Do what you can; where you cannot, say so plainly and offer the nearest thing that you can.",
    "warm": "Be warm and brief, as a friend who is glad to hear from them.",
    "attentive": "Show that you have understood what you were told; do not repeat all of it; ask at most one question.",
    "careful": "Accept the correction without excuses, and say what holds now.",
    "formal": "Write formally and politely, without emoji or exclamation marks.",
    "playful": "Be light and playful, with a little humour, never at the user's expense.",
}
"""Instructions by name; personas and character states may name one or have an instruction of their own."""
_BY_INTENT: tuple[tuple[Intent, str], ...] = (
    (Intent.CORRECTION, "careful"),
    (Intent.DENY, "careful"),
    (Intent.QUESTION, "informative"),
    (Intent.REQUEST, "helpful"),
    (Intent.REMEMBER, "attentive"),
    (Intent.STATEMENT, "attentive"),
    (Intent.GREETING, "warm"),
    (Intent.THANKS, "warm"),
    (Intent.CHITCHAT, "warm"),
)
_DEFAULT = "attentive"


def choose_style(intents: Collection[str], *, of_state: object = None, of_persona: str = "") -> str:
    """The instruction for a reply.

    Args:
        intents: What the message is for.
        of_state: The style that the character state names, which comes first.
        of_persona: The style of the persona, which comes second.
    """
    own = of_state if isinstance(of_state, str) and of_state.strip() else of_persona
    name = own or next((style for intent, style in _BY_INTENT if intent in intents), _DEFAULT)
    return STYLES.get(name, name)
