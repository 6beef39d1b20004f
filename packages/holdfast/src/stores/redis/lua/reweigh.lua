-- Changes the weight of a granted place, and renews it. Heavier: nobody else is granted from now on, and who is granted stays so;
-- the place has the line for itself once those have gone. Lighter: who fits now is let in.
-- KEYS  the line, its queue
-- ARGV  the id, the weight (5, in hex), the turn (8, in hex): one that is not above the place's own is late, and only answered;
--       token retention ms
-- Gives what enter gives; nil: the place is gone or broken.
--@include line.lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local line = loadLine(KEYS[1], KEYS[2], tonumber(ARGV[4]), redis.call('GET', KEYS[1]))
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1]) end
settleLine(line, now)

local place, number = findPlace(line, ARGV[1])
local answer = false
if place and place.lapse <= now then
  removePlace(line, number, place)
  settleLine(line, now)
elseif place and not place.broken then
  local turn = place.turned and string.sub(place.sent, 63, 70) or '00000000'
  -- Of the same width, texts compare like the numbers.
  if number <= line.granted and ARGV[3] > turn then
    local heir = makePlace(place.token, 0, string.sub(place.sent, 1, 12) .. ARGV[2] .. '2' .. string.sub(place.sent, 19, 62)
      .. ARGV[3] .. string.sub(place.sent, place.turned and 71 or 63))
    line.used = line.used + heir.weight - place.weight
    line.changed = true
    place = heir
  end
  renewPlace(line, number, place, now)
  settleLine(line, now)
  answer = answerFor(line, number, place, now)
end
saveLine(line, now)
tellLine(line, now)
return answer
