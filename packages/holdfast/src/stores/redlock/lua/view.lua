-- Lines as this server knows them. Changes nothing.
-- KEYS  the marker, the lines
-- ARGV  places shown of each line, at most
-- Gives { time µs, for each line a list of places: { id, priority, weight, capacity, ms left, 1 with a vote, token, data } }
--@include clock.lua
--@include guard.lua
--@include line.lua
local answer = { micros }
for i = 2, #KEYS do
  local line = loadLine(KEYS[i])
  local shown = {}
  for _, place in ipairs(line.places) do
    if place[LAPSE] > now and #shown < tonumber(ARGV[1]) then
      shown[#shown + 1] = {
        place[ID], place[PRIORITY], place[WEIGHT], place[CAPACITY], place[LAPSE] - now, place[VOTED], place[TOKEN], place[DATA],
      }
    end
  end
  answer[#answer + 1] = shown
end
return answer
