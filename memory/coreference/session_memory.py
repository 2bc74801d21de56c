"""What a session keeps of a resolution (000 §4.3): the antecedents, and what the user corrected of them."""

from collections.abc import Sequence

from ..ports.sessions import SessionStore
from ..values.dialogue import Turn
from ..values.mentions import Extraction, MentionLevel
from ..values.resolutions import CoreferenceResult
from ..values.text import normalise


def meant_in(result: CoreferenceResult, extraction: Extraction) -> CoreferenceResult:
    """The result with the id of what a revision names, where the extractor has found that name in the message."""
    revision = result.revision
    if revision is None or revision.resolution.entity_id is not None:
        return result
    name = normalise(revision.resolution.resolved_text)
    found = next((one.entity_id for one in extraction.mentions if normalise(one.text) == name and one.entity_id), None)
    if found is None:
        return result
    resolution = revision.resolution.model_copy(update={"entity_id": found})
    return result.model_copy(
        update={
            "revision": revision.model_copy(update={"resolution": resolution}),
            "entities_found": (*result.entities_found, found),
        }
    )


async def remember(
    sessions: SessionStore,
    session_id: str,
    *,
    user_id: str,
    turns: Sequence[Turn],
    extraction: Extraction,
    resolution: CoreferenceResult,
) -> None:
    """Adds what was said, mentioned and resolved to a session, and marks what the user corrected, in one atomic step.

    The entry of the wrong antecedent gets `corrected`, the name of what was meant; the entry of that comes behind it.

    Raises:
        StoreUnavailable: The session cannot be kept.
    """
    revision = resolution.revision
    await sessions.append(
        session_id,
        user_id=user_id,
        turns=turns,
        mentioned=[mention.entity_id for mention in extraction.mentions if mention.entity_id],
        resolutions=[*resolution.resolutions, *((revision.resolution,) if revision else ())],
        deixis=[mention.text for mention in extraction.mentions if mention.level is MentionLevel.SESSION],
        revision=revision,
    )
