-- Makes this server one of a deployment, or tells it of a change of the deployment's servers; only if it still is what the caller thinks.
-- KEYS  the marker, the cell in which the change was agreed: not needed any more by a server that knows of it
-- ARGV  the part of the seal that it has ('': no marker), the part that it gets, longest ttl ms, how, the deployment as text
--       how: 'keep': votes as before. 'quiet': none for one longest ttl. 'free': at once; for one that has never voted.
-- Gives { time µs, 1 if it was done }
--@include clock.lua
--@include guard.lua
local marker = readMarker(KEYS[1])
if marker and redis.call('EXISTS', KEYS[1] .. ':servers') == 0 then marker = nil end
if (marker and marker.part or '') ~= ARGV[1] then return { micros, 0 } end
local run, longest, silentUntil = thisRun(), tonumber(ARGV[3]), 0
if ARGV[4] == 'keep' and marker and marker.run == run then
  silentUntil = marker.silentUntil
elseif ARGV[4] ~= 'free' or evicts() then
  silentUntil = now + longest
end
writeMarker(KEYS[1], run, ARGV[2], longest, silentUntil)
redis.call('SET', KEYS[1] .. ':servers', string.format('%013.0f', now) .. ARGV[5])
redis.call('DEL', KEYS[2])
return { micros, 1 }
