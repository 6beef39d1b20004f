-- Takes the votes from those who have them: they are told, and renewed no more; at once, or when their leases run out.
-- KEYS  the marker, the line
-- ARGV  seal, part (see guard.lua), token retention ms, 1 to remove them at once
-- Gives { time µs, silence ms, the ids of the places that had a vote }
--@include clock.lua
--@include guard.lua
--@include line.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
local line = loadLine(KEYS[2])
local answer = { micros, left }
purgeLine(line)
for i = #line.places, 1, -1 do
  local place = line.places[i]
  if place[VOTED] == 1 then
    answer[#answer + 1] = place[ID]
    pushTo(line, place, 'b')
    place[BROKEN] = 1
    if ARGV[4] == '1' then table.remove(line.places, i) end
    line.dirty, line.changed = true, true
  end
end
if left == 0 then settleLine(line, '') end
saveLine(line, tonumber(ARGV[3]))
tellLine(line, KEYS[1])
return answer
