-- Somebody has seen this server's clock jump: it gives no votes for one longest ttl.
-- KEYS  the marker
-- ARGV  run, longest ttl ms
-- Gives { time µs, silence ms }
--@include clock.lua
--@include guard.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left < 0 then return { micros, left } end
local marker = readMarker(KEYS[1])
writeMarker(KEYS[1], marker[2], marker[3], now + marker[3])
return { micros, marker[3] }
