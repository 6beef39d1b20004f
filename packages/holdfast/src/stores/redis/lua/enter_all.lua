-- Joins several lines, if all of them have room now; else none.
-- KEYS  for each line: the line, its queue
-- ARGV  token retention ms, then for each line what the owner sends, as in enter
-- Gives { 1, what enter gives for each line in order }: all are granted.
--       { 0 }: not all have room, or an id is dead. Nobody has come in.
--       { -1, which line, its capacity }: that line is in use with another capacity.
--@include line.lua
local time = redis.call('TIME')
local token = time[1] * 1000000 + time[2]
local now = math.floor(token / 1000)
local lines, places, present = {}, {}, {}
for i = 1, #KEYS, 2 do
  local line = loadLine(KEYS[i], KEYS[i + 1], tonumber(ARGV[1]), redis.call('GET', KEYS[i]))
  if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[i]) end
  lines[#lines + 1] = line
end

local answer
for n, line in ipairs(lines) do
  local place = makePlace(token, 0, ARGV[n + 1])
  place.lapse = now + 1 + place.ttl
  places[n] = place
  settleLine(line, now)
  if line.count > 0 then renumberLine(line) end
  local known, number = findPlace(line, place.id)
  if known then
    -- Settled lines have no lapsed ones among the granted; a waiting one of this id was not made by this script.
    if known.broken or number > line.granted then answer = { 0 } end
    places[n], present[n] = known, number
  elseif line.count > 0 and line.capacity ~= place.capacity then
    answer = { -1, n, line.capacity }
  elseif isBuried(line, place.id, now) or not hasRoom(line, place) then
    answer = { 0 }
  end
  if answer then break end
end

if not answer then
  answer = { 1 }
  for n, line in ipairs(lines) do
    local number = present[n]
    if number then renewPlace(line, number, places[n], now) else number = addPlace(line, places[n], true) end
    answer[n + 1] = answerFor(line, number, places[n], now)
  end
end
for _, line in ipairs(lines) do
  saveLine(line, now)
  tellLine(line, now)
end
return answer
