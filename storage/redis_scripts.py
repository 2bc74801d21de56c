"""Keys and server-side steps of the sessions in Redis."""

from urllib.parse import quote

PREFIX = "entity_session:"
"""000 §5.3."""

PARTS = ("context", "mentioned", "coreference", "deixis", "turns")
"""A hash and four lists, each a key; `turns` lives shorter than the others."""


def session_keys(user_id: str, session_id: str) -> list[str]:
    """The keys of a session, in the order of `PARTS`.

    Both ids are percent-encoded, so that no id can pose as another or as a pattern, and stand in one hash tag, so that
    a cluster keeps the keys of a session together. `entity_session:{user:*` names all sessions of a user.
    """
    tag = f"{{{quote(user_id, safe='')}:{quote(session_id, safe='')}}}"
    return [f"{PREFIX}{tag}:{part}" for part in PARTS]


APPEND = """
local context, mentioned, coreference, deixis, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local call = cjson.decode(ARGV[1])

redis.call('HSETNX', context, 'started_at', call.now)
redis.call('HSET', context, 'last_activity', call.now)
if call.last_referred ~= '' then
    redis.call('HSET', context, 'last_referred_entity', call.last_referred)
end

local known = {}
for _, entry in ipairs(redis.call('LRANGE', history, 0, -1)) do
    local sound, turn = pcall(cjson.decode, entry)
    if sound and type(turn) == 'table' and type(turn.turn_id) == 'string' then known[turn.turn_id] = true end
end
for place, entry in ipairs(call.turns) do
    local id = call.turn_ids[place]
    if id == '' or not known[id] then
        redis.call('RPUSH', history, entry)
        if id ~= '' then known[id] = true end
    end
end

for _, entity in ipairs(call.mentioned) do
    redis.call('LREM', mentioned, 0, entity)
    redis.call('RPUSH', mentioned, entity)
end
for _, entry in ipairs(call.resolutions) do redis.call('RPUSH', coreference, entry) end
for _, word in ipairs(call.deixis) do redis.call('RPUSH', deixis, word) end

for place, key in ipairs(KEYS) do
    if place > 1 then redis.call('LTRIM', key, -call.bounds[place], -1) end
    redis.call('EXPIRE', key, call.ttls[place])
end
"""
"""The atomic step of `SessionStore.append`. KEYS: `session_keys`. ARGV[1]: JSON of what is appended; turns and
resolutions are strings in it, so that the server never rewrites their numbers; "" stands for None."""
