"""Takes out of what stays what it quotes of what goes."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from ..values.governance.changes import NOT_UNDONE, Change, ChangedItem, ChangeKind, ItemKind
from ..values.records import Resource
from ..values.text import is_han, normalise
from ..values.understanding.readings import Rewrite, StatedFact
from .selection import says

_WORD = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[^\W\u3400-\u9fff\uf900-\ufaff]+")
_WHOLE = frozenset({ChangeKind.MERGE, ChangeKind.SPLIT, ChangeKind.RENAME, ChangeKind.ALIAS})
"""Changes of which a part could not be undone."""


def without_quotes(resource: Resource, *, gone: Sequence[str], kept: Sequence[str]) -> Resource:
    """A message without what was understood of it by words of erased messages that no message that stays has.

    Args:
        resource: A message that stays.
        gone: Texts of messages before it in its session that go, normalised.
        kept: Those that stay.
    """

    def quotes(text: str) -> bool:
        return _quotes(normalise(text), normalise(resource.content), gone, kept)

    update: dict[str, object] = {}
    if resource.resolved is not None and quotes(resource.resolved):
        update["resolved"] = None
    found = resource.understanding
    if found is not None:
        facts = tuple(fact for fact in found.facts if not any(quotes(text) for text in _texts_of(fact)))
        rewrite = found.rewrite
        if rewrite is not None and any(quotes(text) for text in (rewrite.text, *_options(rewrite))):
            rewrite = None
        if (facts, rewrite) != (found.facts, found.rewrite):
            update["understanding"] = found.model_copy(update={"facts": facts, "rewrite": rewrite})
    return resource.model_copy(update=update) if update else resource


def kept_change(
    change: Change,
    *,
    messages: AbstractSet[str],
    items: AbstractSet[str],
    gone: AbstractSet[str],
    names: AbstractSet[str],
) -> Change | None:
    """What stays of a change; None where nothing does.

    Args:
        change: A change.
        messages: Ids of messages that go: a change that was made because of one goes, since its reason quotes it.
        items: Ids of items of whose former states nothing may stay.
        gone: Ids by which a change is not found any more.
        names: Normalised names that nothing but messages may hold any more.
    """
    if change.kind in NOT_UNDONE:  # ids alone; what is meant goes, that something was forgotten or decided stays
        kept_ids = tuple(id_ for id_ in change.subjects if id_ not in messages)
        return _without_note(change, names).model_copy(update={"subjects": kept_ids})
    reason = normalise(change.reason)
    if messages & set(change.subjects) or any(says(reason, name) for name in names):
        return None
    kept = tuple(item for item in change.items if item.item_id not in items and not _shows(item, messages, names))
    if len(kept) < len(change.items) and (not kept or change.kind in _WHOLE):
        return None
    dropped = {item.item_id for item in change.items} - {item.item_id for item in kept}
    subjects = tuple(subject for subject in change.subjects if subject not in gone | dropped)
    if not subjects and change.subjects:
        return None
    return change.model_copy(update={"items": kept, "subjects": subjects})


def _shows(item: ChangedItem, messages: AbstractSet[str], names: AbstractSet[str]) -> bool:
    for body in (item.before, item.after):
        if body is None:
            continue
        if body.get("evidence") in messages or body.get("resource_id") in messages:
            return True
        texts = [body.get(field) for field in ("entity_value", "description", "content")]
        aliases = body.get("aliases")
        texts += aliases if isinstance(aliases, list) else []
        is_named = item.kind is not ItemKind.MEMORY
        if is_named and any(normalise(text) in names for text in texts if isinstance(text, str)):
            return True
    return False


def _without_note(change: Change, names: AbstractSet[str]) -> Change:
    """A change whose note, in somebody's own words, says none of these names."""
    decision = change.decision
    if decision is None or not any(says(normalise(decision.note), name) for name in names):
        return change
    return change.model_copy(update={"reason": "", "decision": decision.model_copy(update={"note": ""})})


def _texts_of(fact: StatedFact) -> list[str]:
    """The words of a fact that other messages say."""
    return [span.text for span in (fact.subject, fact.object, fact.time) if span is not None and span.turn is not None]


def _options(rewrite: Rewrite) -> list[str]:
    spans = [span for change in rewrite.replacements for span in (*change.antecedents, *change.alternatives)]
    return [*(change.written for change in rewrite.replacements), *(span.text for span in spans)]


def _quotes(text: str, own: str, gone: Sequence[str], kept: Sequence[str]) -> bool:
    """Whether words that a text adds to a message come from erased messages, and from no other; all normalised."""
    added = {word for word in _words(text) if word not in own}
    return any(any(word in other for other in gone) and not any(says(other, word) for other in kept) for word in added)


def _words(text: str) -> set[str]:
    """Words between borders, and of a run of Han characters, which has no borders, each two neighbours."""
    words: set[str] = set()
    for word in _WORD.findall(text):
        is_run = is_han(word[0]) and len(word) > 1
        words |= {word[place : place + 2] for place in range(len(word) - 1)} if is_run else {word}
    return words
