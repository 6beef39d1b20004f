-- Gives a living place another owner, once: a new id, inbox and data, and a new lease. Its number and its token stay.
-- KEYS  the line, its queue
-- ARGV  the old id, what the new owner sends, as in enter (capacity and weight stay as they are), token retention ms
-- Gives what enter gives; nil: the place is gone, broken, or somebody else's by now.
--@include line.lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local line = loadLine(KEYS[1], KEYS[2], tonumber(ARGV[3]), redis.call('GET', KEYS[1]))
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1]) end
settleLine(line, now)

local sent = ARGV[2]
local place, number = findPlace(line, ARGV[1])
local isFirst = place ~= nil
-- Asked again, since the first answer was lost: it has the new id already.
if not place then place, number = findPlace(line, string.sub(sent, SENT_ID)) end
local answer = false
if place and place.lapse <= now then
  removePlace(line, number, place)
  settleLine(line, now)
elseif place and not place.broken then
  sent = string.sub(place.sent, SENT_CAPACITY) .. string.sub(sent, SENT_TTL) .. string.sub(place.sent, 13, 18)
    .. string.sub(sent, 19, 62) .. (place.turned and string.sub(place.sent, 63, 70) or '') .. string.sub(sent, 63)
  local heir = makePlace(place.token, 0, sent)
  if isFirst then
    if number ~= line.head then
      redis.call('HSET', line.queue, heir.id, number)
      redis.call('HDEL', line.queue, place.id)
    end
    buryId(line, place.id, now, place.ttl)
  end
  renewPlace(line, number, heir, now)
  answer = answerFor(line, number, heir, now)
end
saveLine(line, now)
tellLine(line, now)
return answer
