-- Takes a line from its holders: they are told, and renewed no more; at once, or when their leases run out.
-- KEYS  the line, its queue
-- ARGV  1 to remove them at once, token retention ms
-- Gives how many places were broken.
--@include line.lua
local raw = redis.call('GET', KEYS[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local line = loadLine(KEYS[1], KEYS[2], tonumber(ARGV[2]), raw)
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1]) end
if line.count == 0 then return 0 end
settleLine(line, now)
local broken = 0
for number, place in placesFrom(line, line.head, line.granted) do
  broken = broken + 1
  pushTo(line, place, place.id)
  if ARGV[1] == '1' then
    removePlace(line, number, place)
  else
    breakPlace(place)
    line.changed = true
    putPlace(line, number, place)
  end
end
settleLine(line, now)
saveLine(line, now)
tellLine(line, now)
return broken
