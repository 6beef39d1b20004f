-- Joins a line on this server, or answers where the id stands already and renews it.
-- KEYS  the marker, the line
-- ARGV  run, longest ttl ms, token retention ms, id, weight, capacity, ttl ms, priority, proposed token, 1 if that is settled,
--       round, 1 to wait or 0 to try, inbox, data, then ids of the same owner that are to be removed first
-- Gives { time µs, silence ms (see guard.lua), code, token, wanted, rival, recheck ms or -1 }
--       code 1: has the vote. 0: waits. -1: the id is dead. -2: the line has another capacity, given as token.
--       -3: no vote is to be had, and there was no wish to wait; nothing is left.
--@include guard.lua
--@include line.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left ~= 0 then return { micros, left } end
local line = loadLine(KEYS[2])
local retention, id, ttl = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[7])
local capacity, round = tonumber(ARGV[6]), tonumber(ARGV[11])
purgeLine(line)
for i = 15, #ARGV do
  local _, at = findPlace(line, ARGV[i])
  if at then
    table.remove(line.places, at)
    line.dirty, line.changed = true, true
  end
  buryId(line, ARGV[i], ttl)
end
local answer = { micros, 0 }
local place = findPlace(line, id)
local oldest = line.places[1]
if isBuried(line, id) or (place and place[BROKEN] ~= 0) then
  answer[3] = -1
elseif oldest and oldest[CAPACITY] ~= capacity then
  answer[3], answer[4] = -2, oldest[CAPACITY]
else
  local isNew = not place
  if place then
    place[LAPSE] = now + 1 + ttl
    line.dirty = true
  else
    place = {
      id, tonumber(ARGV[8]), tonumber(ARGV[5]), capacity, ttl, now + 1 + ttl, 0, tonumber(ARGV[9]), tonumber(ARGV[10]),
      round, 0, ARGV[13], ARGV[14],
    }
    insertPlace(line, place)
  end
  if round > place[ROUND] then place[ROUND] = round end
  settleLine(line, id)
  if place[VOTED] == 0 and ARGV[12] == '0' then
    local _, at = findPlace(line, id)
    table.remove(line.places, at)
    answer[3] = -3
  else
    if isNew and place[VOTED] == 0 then
      -- Who has a vote but came later is asked to give it back, if it does not hold.
      for _, other in ipairs(line.places) do
        if other[VOTED] == 1 and isBefore(place, other) then pushTo(line, other, 'y') end
      end
    end
    answerFor(line, place, answer)
  end
end
saveLine(line, retention)
tellLine(line, KEYS[1])
return answer
