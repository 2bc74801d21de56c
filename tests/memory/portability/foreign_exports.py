"""Small exports of other services, in the shapes that the readers name."""

from typing import Any

MEM0: dict[str, Any] = {
    "count": 3,
    "next": None,
    "previous": None,
    "results": [
        {
            "id": "m1",
            "memory": "User likes oolong tea",
            "user_id": "ada",
            "run_id": "r1",
            "agent_id": "bot",
            "expiration_date": "2099-03-01",
            "metadata": {"room": "kitchen", "tags": ["a", "b"]},
            "categories": ["food"],
            "created_at": "2025-01-15T10:30:00-08:00",
            "updated_at": "2025-01-15T10:30:00-08:00",
        },
        {
            "id": "m2",
            "memory": "使用者住在波士頓",
            "user_id": "ada",
            "metadata": None,
            "created_at": "2025-01-16T00:00:00Z",
        },
        {"id": "m3", "memory": "Has no time", "user_id": "ada"},
    ],
}
LETTA: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "sam",
            "messages": [
                {"id": "message-0", "role": "system", "content": "Be kind.", "created_at": "2025-10-31T22:00:00Z"},
                {
                    "id": "message-1",
                    "role": "user",
                    "content": [
                        {"type": "text", "text": '{"type": "user_message", "message": "I study in Berkeley."}'}
                    ],
                    "created_at": "2025-10-31T22:01:00Z",
                },
                {
                    "id": "message-2",
                    "role": "user",
                    "content": [{"type": "text", "text": '{"type": "heartbeat", "reason": "x"}'}],
                    "created_at": "2025-10-31T22:02:00Z",
                },
                {
                    "id": "message-3",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "I think of a reply."}],
                    "tool_calls": [
                        {"id": "c", "function": {"name": "send_message", "arguments": '{"message": "Go Bears!"}'}}
                    ],
                    "created_at": "2025-10-31T22:03:00Z",
                },
                {
                    "id": "message-4",
                    "role": "assistant",
                    "content": "Searching.",
                    "tool_calls": [{"id": "d", "function": {"name": "archival_memory_search", "arguments": "{}"}}],
                    "created_at": "2025-10-31T22:04:00Z",
                },
                {"id": "message-5", "role": "tool", "content": "{}", "created_at": "2025-10-31T22:05:00Z"},
                {"id": "message-6", "role": "assistant", "content": "Done.", "created_at": "2025-10-31T22:06:00Z"},
            ],
        }
    ],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "First name: Chad"},
        {"id": "block-1", "label": "persona", "value": "I am Sam."},
    ],
}
ZEP: dict[str, Any] = {
    "threads": [
        {
            "thread_id": "t1",
            "messages": [
                {
                    "uuid": "u1",
                    "role": "user",
                    "name": "Jane",
                    "content": "I work at Acme.",
                    "created_at": "2025-03-01T09:00:00Z",
                },
                {"uuid": "u2", "role": "assistant", "content": "Noted.", "created_at": "2025-03-01T09:00:01Z"},
                {"uuid": "u3", "role": "tool", "content": "{}", "created_at": "2025-03-01T09:00:02Z"},
            ],
        }
    ],
    "edges": [
        {
            "uuid": "e1",
            "name": "WORKS_AT",
            "fact": "Jane works at Acme.",
            "created_at": "2025-03-01T09:01:00Z",
            "valid_at": "2025-03-01T09:00:00Z",
        },
        {
            "uuid": "e2",
            "name": "LIVES_IN",
            "fact": "Jane lives in Rome.",
            "created_at": "2024-03-01T09:01:00Z",
            "invalid_at": "2025-01-01T00:00:00Z",
        },
    ],
}


def _node(id_: str, parent: str | None, role: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    message = {
        "id": id_,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1_700_000_000.5,
        "content": {"content_type": "text", "parts": list(parts)},
        "recipient": "all",
        "metadata": {},
    }
    return {"id": id_, "parent": parent, "children": [], "message": message | fields}


OPENAI: list[dict[str, Any]] = [
    {
        "id": "c1",
        "title": "Tea",
        "create_time": 1_699_999_999.0,
        "current_node": "n5",
        "mapping": {
            "root": {"id": "root", "parent": None, "children": ["n1"], "message": None},
            "n1": _node("n1", "root", "system", ""),
            "n2": _node("n2", "n1", "user", "我喜歡烏龍茶", create_time=None),
            "n3": _node("n3", "n2", "assistant", "The first answer."),
            "n4": _node("n4", "n2", "assistant", "search()", recipient="web"),
            "n5": _node(
                "n5",
                "n4",
                "assistant",
                {"content_type": "image_asset_pointer", "asset_pointer": "x"},
                "The second answer.",
                content={
                    "content_type": "multimodal_text",
                    "parts": [{"content_type": "image_asset_pointer"}, "The second answer."],
                },
            ),
        },
    }
]
