-- Gives a place up on this server. Works in silence, too: then nobody else gets the vote.
-- KEYS  the marker, the line
-- ARGV  seal, part (see guard.lua), token retention ms, id, ttl ms, 1 if a request to enter may still be under way,
--       ms that the place stays, unrenewed (0: it goes at once), the round it was given up in
-- Gives { time µs, silence ms, 1 if it was there }
--@include clock.lua

-- Alone, as in enter.lua: only its token is remembered.
local mark, known = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
if
  mark and known and string.sub(mark, 43) == ARGV[1] and string.sub(known, 1, 3) == 'hf1' and string.sub(known, 17, 48) == ARGV[4]
  and ARGV[6] == '0' and ARGV[7] == '0'
then
  local latest = tonumber(string.sub(mark, 17, 29))
  local round, token = string.match(known, '^ (%d+) (%d+)', 49)
  if
    latest and now >= latest - STEP_BACK and now <= latest + TICK and string.sub(mark, 4, 16) + 0 <= now
    and string.sub(known, 4, 16) + 0 > now and round + 0 <= ARGV[8] + 0
  then
    redis.call('SET', KEYS[2], 'hfe' .. token, 'PX', ARGV[3])
    return { micros, 0, 1 }
  end
end

--@include guard.lua
--@include line.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
local line = loadLine(KEYS[2])
local id, stays = ARGV[4], tonumber(ARGV[7])
purgeLine(line)
local place, at = findPlace(line, id)
if place and stays > 0 and place[BROKEN] ~= 1 then
  place[BROKEN], place[LAPSE] = 2, now + 1 + stays
  line.dirty, line.changed = true, true
elseif not place or (place[BROKEN] == 0 and place[ROUND] <= tonumber(ARGV[8])) then
  -- Neither one that is to stay for a while, nor one that was broken (its holder was told, and its work may go on until the lease ends: the
  -- next must not be served before), nor one that was entered again while this request was long under way.
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
