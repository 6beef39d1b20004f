-- What every new connection says first: is this the server, and the run of it, that the marker speaks of?
-- KEYS  the marker
-- ARGV  'look', 'join' or 'init'; longest ttl ms of the deployment, as far as the caller knows
-- A join writes the marker when it is missing, or of another run: the server then gives no votes for one longest ttl.
-- An init writes it when it is missing, and votes can be given at once: only for a first start.
-- Gives { time µs, silence ms, run, longest ttl ms or 0, 1 if the marker was there, 1 if it was of this run }
--@include clock.lua
--@include guard.lua
local run = thisRun()
local marker = readMarker(KEYS[1])
local wasThere, wasOurs = marker and 1 or 0, marker and marker[2] == run and 1 or 0
local longest = marker and marker[3] or tonumber(ARGV[2])
if wasOurs == 0 and ARGV[1] ~= 'look' then
  local isFirst = ARGV[1] == 'init' and not marker
  writeMarker(KEYS[1], run, longest, isFirst and 0 or now + longest)
  wasOurs = 1
end
local left = wasOurs == 1 and silence(KEYS[1], run, longest) or -1
return { micros, left, run, marker and marker[3] or (ARGV[1] == 'look' and 0 or longest), wasThere, wasOurs }
