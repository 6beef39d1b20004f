-- Reads a cell, or changes it if its version is still the one given.
-- KEYS  the cell: version, until when it lives (0: for ever), whether it has a value, nonce, value
-- ARGV  nothing to read; else version, 1 and the value or 0 and '' to delete, ttl ms (0: for ever), nonce, grave ms, retention ms
-- Gives { version, nonce, value } of the cell as it is now; version 0 and value nil when absent.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local raw = redis.call('GET', KEYS[1])
local version, lapse, full, nonce, value, last = 0, 0, 0, false, false, 0
if raw then
  if string.sub(raw, 1, 3) ~= 'hfc' then
    return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1])
  end
  local at
  version, lapse, full, nonce, at = struct.unpack('<dI6BBc0', raw, 4)
  last = version
  if lapse ~= 0 and lapse <= now then
    version, nonce = 0, false
  elseif full == 1 then
    value = string.sub(raw, at)
  else
    version = 0
  end
end
if #ARGV == 0 or nonce == ARGV[5] or version ~= tonumber(ARGV[1]) then
  return { version, nonce, value }
end

-- Versions obey the law of tokens: they rise, also across a removal.
local fresh = math.max(last + 1, time[1] * 1000000 + time[2])
local ttl = tonumber(ARGV[2] == '1' and ARGV[4] or ARGV[6])
lapse = ttl == 0 and 0 or now + 1 + ttl
raw = struct.pack('<c3dI6BBc0', 'hfc', fresh, lapse, ARGV[2], #ARGV[5], ARGV[5]) .. ARGV[3]
if lapse == 0 then
  redis.call('SET', KEYS[1], raw)
else
  redis.call('SET', KEYS[1], raw, 'PXAT', lapse + ARGV[7])
end
if ARGV[2] == '1' then return { fresh, ARGV[5], ARGV[3] } end
return { 0, ARGV[5], false }
