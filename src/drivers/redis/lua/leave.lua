-- Gives a place up. An id that is not in the line is dead from now on, for one ttl.
-- KEYS  the line, its queue
-- ARGV  id, token retention ms, ttl ms, and, unless it shall go at once, after how many ms it shall lapse
-- Gives 1 if the place was there, else 0.
local raw = redis.call('GET', KEYS[1])

-- Most calls end here: the only one in the line goes. Its token stays behind; out of memory, the clock alone keeps tokens rising.
if raw and string.sub(raw, 1, 3) == 'hf1' and string.sub(raw, 42, 73) == ARGV[1] and not ARGV[4] then
  local written
  if tonumber(ARGV[3]) <= tonumber(ARGV[2]) then
    written = redis.pcall('SET', KEYS[1], 'hf0' .. string.sub(raw, 4, 17), 'KEEPTTL')
  else
    -- The lease was longer than the token need be remembered: nothing shall lie about for so long.
    written = redis.pcall('SET', KEYS[1], 'hf0\0\0\0\0\0\0' .. string.sub(raw, 10, 17), 'PX', ARGV[2])
  end
  if written.err then redis.call('DEL', KEYS[1]) end
  return 1
end

--@include line.lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local line = loadLine(KEYS[1], KEYS[2], tonumber(ARGV[2]), raw)
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1]) end
local place, number = findPlace(line, ARGV[1])
if not place then
  buryId(line, ARGV[1], now, tonumber(ARGV[3]))
elseif not ARGV[4] then
  removePlace(line, number, place)
else
  breakPlace(place)
  place.lapse = math.min(place.lapse, now + tonumber(ARGV[4]))
  if number <= line.granted and place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
  putPlace(line, number, place)
end
settleLine(line, now)
saveLine(line, now)
tellLine(line, now)
return place and 1 or 0
