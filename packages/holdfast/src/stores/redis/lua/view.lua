-- Shows lines to people; changes nothing. Of a very long line only the first places are shown.
-- KEYS  for each line: the line, its queue
-- ARGV  how many places to show at most, of each line
-- Gives for each line { capacity, places, how many of them hold }, each place as { token, weight, age ms, ms left, data }; nil: nobody is in it.
--@include line.lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit = tonumber(ARGV[1])
local views = {}
for i = 1, #KEYS, 2 do
  local raw = redis.call('GET', KEYS[i])
  local line = raw and loadLine(KEYS[i], KEYS[i + 1], 0, raw)
  local view = false
  if line and line.count > 0 then
    -- Those that were granted and live, then whoever fits beside them: the next call would let them in.
    local places, holders, used = {}, 0, 0
    for number, place in placesFrom(line, line.head, line.tail) do
      if place.lapse > now then
        -- A token is the time of entering in microseconds, unless the clock went back.
        local age = math.max(0, now - math.floor(place.token / 1000))
        local data = string.sub(place.sent, place.turned and 71 or 63)
        places[#places + 1] = { place.token, place.weight, age, place.lapse - now, data }
        if holders == #places - 1 and (number <= line.granted or used + place.weight <= line.capacity) then
          holders, used = #places, used + place.weight
        end
        if #places >= limit then break end
      end
    end
    if #places > 0 then view = { line.capacity, places, holders } end
  end
  views[#views + 1] = view
end
return views
