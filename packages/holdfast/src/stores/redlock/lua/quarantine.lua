-- Somebody has seen this server's clock jump: it gives no votes for one longest ttl.
-- KEYS  the marker
-- ARGV  seal, part (see guard.lua)
-- Gives { time µs, silence ms }
--@include clock.lua
--@include guard.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left == -1 then return { micros, left } end
local marker = readMarker(KEYS[1])
writeMarker(KEYS[1], marker.run, marker.part, marker.longest, now + marker.longest)
return { micros, marker.longest }
