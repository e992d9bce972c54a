"""Redis scripts: the steps that a Redis server must take whole or not at all, in Lua.

The first key of each script is a scope's prefix; the keys and values below it are described in ``redis_store``.
"""

from __future__ import annotations

import hashlib
from functools import cache

TOMBSTONE_MS = 24 * 3600 * 1000
MAX_APPLIED = 10_000  # ids of changes that a scope remembers, for as long as a tombstone stays

_COMMON = f"""
local p, u = KEYS[1], KEYS[1] .. 'u'
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
local function head(key)  -- version of what stands there (0: nothing), whether it is a value, its deadline (0: none)
  local s = redis.call('GETRANGE', p .. 'v:' .. key, 0, 40)
  if s == '' then return 0, false, 0 end
  local version, expires, rest = string.match(s, '^(%d+):(%d+):(.?)')
  return tonumber(version or 0), rest ~= nil and rest ~= '', tonumber(expires or 0)
end
local function drop(key, version)
  redis.call('SET', p .. 'v:' .. key, string.format('%.0f:0:', version), 'PX', {TOMBSTONE_MS})
  redis.call('ZREM', string.byte(key) == 95 and p .. 'i' or u, key)
end
local function write(key, value, expires, version, t)
  local name, text = p .. 'v:' .. key, string.format('%.0f:%.0f:%s', version, expires, value)
  if expires > 0 and string.byte(key) ~= 95 then
    redis.call('SET', name, text, 'PX', math.max(1, math.ceil((expires - t) / 1000)))
  else
    redis.call('SET', name, text)
  end
  redis.call('ZADD', string.byte(key) == 95 and p .. 'i' or u, t, key)
end
"""

# Takes keys out of the sets whose values the server has expired or evicted.
FORGET = """
for _, key in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[1] .. 'v:' .. key) == 0 then
    redis.call('ZREM', KEYS[1] .. 'u', key)
    redis.call('ZREM', KEYS[1] .. 'i', key)
  end
end
return true
"""

# The common write, kept short: its time is what a set costs more than a bare SET. Key, the text as it is stored, ms to
# live (empty: for ever), limit (empty: none). Versions have 16 digits until the year 2286 and so compare as text.
# Returns nothing, or a version that is not the text's (clocks differ), with '-' first when the keys exceed the limit.
SET = """
local key, text, ttl = ARGV[1], ARGV[2], ARGV[3]
local name, old, bumped = KEYS[1] .. 'v:' .. key, nil, nil
if ttl ~= '' then
  old = redis.call('SET', name, text, 'PX', ttl, 'GET')
else
  old = redis.call('SET', name, text, 'GET')
end
if old and old >= text and string.sub(old, 1, 16) >= string.sub(text, 1, 16) then
  bumped = string.format('%.0f', tonumber(string.sub(old, 1, 16)) + 1)
  text = bumped .. string.sub(text, 17)
  redis.call('SET', name, text, 'KEEPTTL')
end
if string.byte(key) == 95 then
  redis.call('ZADD', KEYS[1] .. 'i', string.sub(text, 1, 16), key)
else
  local u = KEYS[1] .. 'u'
  if redis.call('ZADD', u, string.sub(text, 1, 16), key) == 1 and ARGV[4] ~= '' then
    if redis.call('ZCARD', u) > tonumber(ARGV[4]) then return '-' .. (bumped or '') end
  end
end
return bumped
"""

# key, value, us to live (0: for ever), then the version it must have (0: there is nothing), or the version it brings
# along and that must be newer, which of the two ('same' or 'newer'), and the ids of the changes made. Returns the new
# version; 'applied' when a change was applied before; where another version stands its text ('same') or false.
PUT = (
    _COMMON
    + f"""
local key, ttl, expected = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local t = now()
for n = 6, #ARGV do
  if redis.call('ZSCORE', p .. 'a', ARGV[n]) then return 'applied' end
end
local had, alive = head(key)
local version = math.max(had + 1, t)
if ARGV[5] == 'newer' then
  version = expected
  if version <= had then return false end
elseif expected ~= (alive and had or 0) then
  return redis.call('GET', p .. 'v:' .. key) or ''
end
write(key, ARGV[2], ttl > 0 and t + ttl or 0, version, t)
for n = 6, #ARGV do redis.call('ZADD', p .. 'a', t, ARGV[n]) end
if #ARGV > 5 then
  redis.call('ZREMRANGEBYSCORE', p .. 'a', '-inf', t - {TOMBSTONE_MS} * 1000)
  redis.call('ZREMRANGEBYRANK', p .. 'a', 0, -1 - {MAX_APPLIED})
end
return string.format('%.0f', version)
"""
)

# limit, then key and time of use of what was read lately. Of the oldest few those that are dead go first.
EVICT = """
local u, v, limit = KEYS[1] .. 'u', KEYS[1] .. 'v:', tonumber(ARGV[1])
for n = 2, #ARGV, 2 do redis.call('ZADD', u, 'XX', 'GT', ARGV[n + 1], ARGV[n]) end
local over = redis.call('ZCARD', u) - limit
if over <= 0 then return 0 end
for _, key in ipairs(redis.call('ZRANGE', u, 0, over + 15)) do
  if redis.call('EXISTS', v .. key) == 0 then over = over - redis.call('ZREM', u, key) end
end
if over > 0 then
  local oldest = redis.call('ZPOPMIN', u, over)
  for n = 1, #oldest, 2 do redis.call('DEL', v .. oldest[n]) end
end
return over
"""

# keys; ARGV[1] is the version of the deletion (empty: now), older writes than which go. Returns how many were alive.
DELETE = (
    _COMMON
    + """
local t = ARGV[1] ~= '' and tonumber(ARGV[1]) or nil
local keys = {}
if #ARGV > 1 then
  for n = 2, #ARGV do keys[#keys + 1] = ARGV[n] end
else
  keys = redis.call('ZRANGE', p .. 'u', 0, -1)
end
local gone = 0
for _, key in ipairs(keys) do
  local had, alive, expires = head(key)
  local version = t or math.max(had + 1, now())
  if version > had then
    if alive and (expires == 0 or expires > now()) then gone = gone + 1 end
    drop(key, version)
  end
end
return gone
"""
)

# version or empty; how many internal keys; these; then key, value, us to live (0: for ever) of each new record.
RESTORE = (
    _COMMON
    + """
local t = now()
local given = ARGV[1] ~= '' and tonumber(ARGV[1]) or nil
local keys = redis.call('ZRANGE', p .. 'u', 0, -1)
local count = tonumber(ARGV[2])
for n = 3, 2 + count do keys[#keys + 1] = ARGV[n] end
local kept = {}
for _, key in ipairs(keys) do
  local had = head(key)
  if given and given <= had then kept[key] = true else drop(key, given or math.max(had + 1, t)) end
end
for n = 3 + count, #ARGV, 3 do
  local key, ttl = ARGV[n], tonumber(ARGV[n + 2])
  if not kept[key] then
    local had = head(key)
    write(key, ARGV[n + 1], ttl > 0 and t + ttl or 0, given and math.max(given, had) or math.max(had + 1, t), t)
  end
end
return true
"""
)

# Deletes what has expired of a scope whose end has passed; KEYS: its prefix, SCOPES, ENDS. ARGV: its name. When a value
# is still alive (it was written long after the scope was opened), the end moves to that value's deadline.
SWEEP = (
    _COMMON
    + """
local t, last = now(), 0
local ends = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[1]) or 'inf')
if ends > t / 1000000 then return false end
for _, index in ipairs({'u', 'i'}) do
  for _, key in ipairs(redis.call('ZRANGE', p .. index, 0, -1)) do
    local _, alive, expires = head(key)
    if alive and (expires == 0 or expires > t) then
      last = math.max(last, expires == 0 and math.huge or expires)
    else
      redis.call('UNLINK', p .. 'v:' .. key)
      redis.call('ZREM', p .. index, key)
    end
  end
end
if last > 0 then
  redis.call('ZADD', KEYS[3], last == math.huge and 'inf' or string.format('%.0f', last / 1000000 + 1), ARGV[1])
else
  redis.call('UNLINK', p .. 'u', p .. 'i', p .. 'a')
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
end
return true
"""
)


@cache
def digest(source: str) -> str:
    """How the server names a script."""
    return hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
