-- Gives a vote back but keeps the place: somebody who came earlier needs it, and the owner does not hold.
-- KEYS  the marker, the line
-- ARGV  seal, part (see guard.lua), token retention ms, id, the round in which the owner found that it does not hold
-- Gives { time µs, silence ms, 1 if the vote was given back }
--@include clock.lua
--@include guard.lua
--@include line.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left ~= 0 then return { micros, left, 0 } end
local line = loadLine(KEYS[2])
purgeLine(line)
local place = findPlace(line, ARGV[4])
-- A later round may have counted this vote: then this request was too long under way.
local yields = place and place[VOTED] == 1 and place[ROUND] == tonumber(ARGV[5])
if yields then
  place[VOTED] = 0
  line.dirty, line.changed = true, true
end
settleLine(line, '')
saveLine(line, tonumber(ARGV[3]))
tellLine(line, KEYS[1])
return { micros, 0, yields and 1 or 0 }
