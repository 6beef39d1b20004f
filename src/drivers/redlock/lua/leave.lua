-- Gives a place up on this server. Works in silence, too: then nobody else gets the vote.
-- KEYS  the marker, the line
-- ARGV  run, longest ttl ms, token retention ms, id, ttl ms, 1 if a request to enter may still be under way,
--       ms that the place stays, unrenewed (0: it goes at once), the round it was given up in
-- Gives { time µs, silence ms, 1 if it was there }
--@include guard.lua
--@include line.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
local line = loadLine(KEYS[2])
local id, stays = ARGV[4], tonumber(ARGV[7])
purgeLine(line)
local place, at = findPlace(line, id)
if place and stays > 0 then
  place[BROKEN], place[LAPSE] = 2, now + 1 + stays
  line.dirty, line.changed = true, true
elseif not place or (place[BROKEN] ~= 2 and place[ROUND] <= tonumber(ARGV[8])) then
  -- Neither one that is to stay for a while, nor one that was entered again while this request was long under way.
  if place then
    table.remove(line.places, at)
    line.dirty, line.changed = true, true
  end
  -- leave may overtake its own enter: for one ttl an enter of this id finds that it is too late.
  if not place or ARGV[6] == '1' then buryId(line, id, tonumber(ARGV[5])) end
end
if left == 0 then settleLine(line, '') end
saveLine(line, tonumber(ARGV[3]))
tellLine(line, KEYS[1])
return { micros, left, place and 1 or 0 }
