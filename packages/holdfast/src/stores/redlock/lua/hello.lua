-- What every new connection says first: which run is this, and what does its marker say?
-- KEYS  the marker
-- ARGV  'look' or 'join'
-- A join writes the marker anew when it is of another run: the server then gives no votes for one longest ttl.
-- Gives { time µs, silence ms, run, longest ttl ms or 0 without a marker, part of the seal, ms since its epoch began, the deployment as text,
--       1 if it may evict keys }
--@include clock.lua
--@include guard.lua
local run, may = thisRun(), evicts() and 1 or 0
local marker, servers = readMarker(KEYS[1]), redis.call('GET', KEYS[1] .. ':servers')
if not (marker and servers) then return { micros, -1, run, 0, '', 0, '', may } end
if marker.run ~= run and ARGV[1] == 'join' then
  writeMarker(KEYS[1], run, marker.part, marker.longest, now + marker.longest)
  marker.run = run
end
local left = marker.run == run and silence(KEYS[1], run .. marker.part) or -1
return { micros, left, run, marker.longest, marker.part, now - tonumber(string.sub(servers, 1, 13)), string.sub(servers, 14), may }
