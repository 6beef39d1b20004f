-- Joins a line, or answers where the id stands already and renews it.
-- KEYS  the line, its queue
-- ARGV  what the owner sends, as stored (see line.lua: capacity, ttl, weight, 0, id, inbox, data), ttl ms,
--       ms that the line must outlive now if nobody else is in it: ttl and token retention,
--       1 to wait or 0 to try
-- Gives a token: the place is granted, nobody is in front and nobody behind.
--       { token, weight in front, recheck ms or -1, wanted }: where it stands.
--       { -1, capacity }: the line is in use with another capacity. Nothing was changed.
--       nil: no room and no wish to wait, or the id is dead.
local time = redis.call('TIME')
local token = time[1] * 1000000 + time[2]
local now = math.floor(token / 1000)
local raw = redis.call('GET', KEYS[1])

-- Most calls end here: a free line. The token is the time, unless the line has given out a higher one (the clock went back).
-- The lease has one millisecond more, since `now` is rounded down: it is never shorter than its ttl.
if not raw or string.sub(raw, 1, 3) == 'hf0' then
  local keep, last, needed = 0, 0, now + 1 + ARGV[3]
  if raw then keep, last = struct.unpack('<I6d', raw, 4) end
  if last >= token then token = last + 1 end
  local lapse = now + 1 + ARGV[2]
  if keep >= needed then
    redis.call('SET', KEYS[1], struct.pack('<c3I6dI6', 'hf1', keep, token, lapse) .. ARGV[1], 'KEEPTTL')
  else
    -- Set ahead by one retention, so that the next ones can leave it as it is.
    keep = needed + ARGV[3] - ARGV[2]
    redis.call('SET', KEYS[1], struct.pack('<c3I6dI6', 'hf1', keep, token, lapse) .. ARGV[1], 'PXAT', keep)
  end
  return token
end

--@include line.lua
local ttl = tonumber(ARGV[2])
local place = makePlace(token, now + 1 + ttl, ARGV[1])
local line = loadLine(KEYS[1], KEYS[2], ARGV[3] - ttl, raw)
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1]) end
clearGraves(line, now)
settleLine(line, now)
if line.count > 0 then renumberLine(line) end

local answer = false
local present, number = findPlace(line, place.id)
if present then
  if present.lapse <= now then
    removePlace(line, number, present)
    settleLine(line, now)
  elseif not present.broken then
    renewPlace(line, number, present, now)
    answer = answerFor(line, number, present, now)
  end
elseif isBuried(line, place.id, now) then
  answer = false
elseif line.count > 0 and line.capacity ~= place.capacity then
  answer = { -1, line.capacity }
else
  local fits = hasRoom(line, place)
  if fits or ARGV[4] == '1' then
    answer = answerFor(line, addPlace(line, place, fits), place, now)
  end
end
saveLine(line, now)
tellLine(line, now)
return answer
