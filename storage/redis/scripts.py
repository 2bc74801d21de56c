"""Keys and server-side steps in Redis."""

from urllib.parse import quote

PREFIX = "entity_session:"
"""000 §5.3."""
LOCK_PREFIX = "entity_lock:"
LIMIT_PREFIX = "entity_limit:"

PARTS = ("context", "mentioned", "coreference", "deixis", "turns")
"""A hash and four lists, each a key; `turns` lives shorter than the others."""


def session_keys(user_id: str, session_id: str) -> list[str]:
    """The keys of a session, in the order of `PARTS`.

    Both ids are percent-encoded, so that no id can be taken for another or for a pattern, and stand in one hash tag, so
    that a cluster keeps the keys of a session together. `entity_session:{user:*` names all sessions of a user.
    """
    tag = f"{{{quote(user_id, safe='')}:{quote(session_id, safe='')}}}"
    return [f"{PREFIX}{tag}:{part}" for part in PARTS]


def user_pattern(user_id: str) -> str:
    """A pattern that the keys of all sessions of a user match, and no others: encoded ids hold no wildcards."""
    return f"{PREFIX}{{{quote(user_id, safe='')}:*"


def lock_key(name: str) -> str:
    """The key of a lock."""
    return f"{LOCK_PREFIX}{{{quote(name, safe='')}}}"


def limit_key(user_id: str) -> str:
    """The key of a user's rate limit."""
    return f"{LIMIT_PREFIX}{{{quote(user_id, safe='')}}}"


APPEND = """
local context, mentioned, coreference, deixis, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local call = cjson.decode(ARGV[1])

for place, key in ipairs(KEYS) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= 'none' and kind ~= (place == 1 and 'hash' or 'list') then redis.call('UNLINK', key) end
end

redis.call('HSETNX', context, 'started_at', call.now)
redis.call('HSET', context, 'last_activity', call.now, 'to_forget', call.to_forget)
if call.referred ~= '' then redis.call('HSET', context, 'last_referred_entity', call.referred) end

local known = {}
for _, entry in ipairs(redis.call('LRANGE', history, 0, -1)) do
    local sound, turn = pcall(cjson.decode, entry)
    if sound and type(turn) == 'table' and type(turn.turn_id) == 'string' then known[turn.turn_id] = true end
end
local repeated = #call.turns > 0
for place, entry in ipairs(call.turns) do
    local id = call.turn_ids[place]
    if id == '' or not known[id] then
        redis.call('RPUSH', history, entry)
        repeated = false
        if id ~= '' then known[id] = true end
    end
end

for _, entity in ipairs(call.mentioned) do
    redis.call('LREM', mentioned, 0, entity)
    redis.call('RPUSH', mentioned, entity)
end
if not repeated then
    local wrong = call.corrected
    local entries = wrong ~= cjson.null and redis.call('LRANGE', coreference, 0, -1) or {}
    for place = #entries, 1, -1 do
        local sound, entry = pcall(cjson.decode, entries[place])
        if sound and type(entry) == 'table' and entry.original_text == wrong.original_text
                and entry.resolved_text == wrong.resolved_text
                and (type(entry.corrected) ~= 'string' or entry.corrected == '') then
            redis.call('LSET', coreference, place - 1, string.sub(entries[place], 1, -2) .. wrong['end'])
            break
        end
    end
    for _, entry in ipairs(call.resolutions) do redis.call('RPUSH', coreference, entry) end
    for _, word in ipairs(call.deixis) do redis.call('RPUSH', deixis, word) end
end

for place, key in ipairs(KEYS) do
    if place > 1 then redis.call('LTRIM', key, -call.bounds[place], -1) end
    redis.call('EXPIRE', key, call.ttls[place])
end
"""
"""The atomic step of `SessionStore.append`. KEYS: `session_keys`. ARGV[1]: JSON of what is appended; turns and
resolutions are strings in it, so that the server never rewrites their numbers (nor does it where it marks an entry as
corrected: it appends to the text); "" stands for None. A key of another type
is deleted first, since unreadable parts of a session are left out."""

TAKE = """
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local full = tonumber(redis.call('GET', KEYS[1]) or now) or now
full = math.min(math.max(full, now), now + burst * interval)
local wait = full + interval - now - burst * interval
if wait > 0 then return math.ceil(wait) end
full = full + interval
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
return 0
"""
"""The atomic step of `RateLimiter.take`. KEYS: `limit_key`. ARGV: microseconds that a request costs, requests at once.
Returns the microseconds to wait, 0 where the request is counted. The key holds the time at which the full burst is
available again, by the server's clock; bounded, so that setting the clock back locks nobody out."""
