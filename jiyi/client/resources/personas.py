"""Who the assistant is for a user: `/persona`."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from deployments.http.schemas.memory.personas import PersonaList, PersonaRemoved
from memory.values.personas import Persona

from ..calls import Call, call, given
from ..endpoints import Resource, T_co, endpoint


class Personas(Resource[T_co]):
    """Personas: what is given, and what conversation has told since."""

    @endpoint
    def get(self, *, user_id: str, persona_id: str | None = None) -> Call[Persona]:
        """`GET /persona`: one that nobody has given is that of the settings, or empty."""
        return call("GET", "/persona", params=given(user_id=user_id, persona_id=persona_id))

    @endpoint
    def list(self, *, user_id: str) -> Call[PersonaList]:
        """`GET /persona/list`: all of a user."""
        return call("GET", "/persona/list", params={"user_id": user_id})

    @endpoint
    def put(
        self,
        *,
        user_id: str,
        persona_id: str | None = None,
        name: str | None = None,
        aliases: Sequence[str] | None = None,
        facts: Sequence[str] | None = None,
        style: str | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> Call[Persona]:
        """`PUT /persona`: gives one in place of what was given before; what was learned stays."""
        profile = given(persona_id=persona_id, name=name, aliases=aliases, facts=facts, style=style, state=state)
        return call("PUT", "/persona", body={"user_id": user_id, **profile})

    @endpoint
    def delete(self, *, user_id: str, persona_id: str | None = None) -> Call[PersonaRemoved]:
        """`DELETE /persona`: removes what was given and learned."""
        return call("DELETE", "/persona", params=given(user_id=user_id, persona_id=persona_id))

    @endpoint
    def learn(
        self,
        message: str,
        *,
        user_id: str,
        session_id: str = "default",
        persona_id: str | None = None,
        reply: str | None = None,
        turn_id: str | None = None,
        injected: Sequence[str] | None = None,
    ) -> Call[Persona]:
        """`POST /persona/learn`: what a turn told about the assistant; `injected` are texts that its prompt held."""
        body = given(message=message, user_id=user_id, session_id=session_id, persona_id=persona_id, reply=reply)
        body |= given(turn_id=turn_id or str(uuid4()), injected=injected)
        return call("POST", "/persona/learn", body=body, repeatable=True)
