-- Asks that changes of a line be published for a while.
-- KEYS  the marker, the line
-- ARGV  for how many ms, token retention ms
-- Gives { time µs }
--@include clock.lua
--@include guard.lua
--@include line.lua
local line = loadLine(KEYS[2])
line.observed = math.max(line.observed, now + tonumber(ARGV[1]))
line.dirty = true
saveLine(line, tonumber(ARGV[2]))
return { micros }
