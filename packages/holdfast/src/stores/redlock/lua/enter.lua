-- Joins a line on this server, or answers where the id stands already and renews it.
-- KEYS  the marker, the line
-- ARGV  seal, part (see guard.lua), token retention ms, id, weight, capacity, ttl ms, priority, proposed token, 1 if that is settled,
--       round, 1 to wait or 0 to try, inbox, data
-- Gives { time µs, silence ms (see guard.lua), code, token, wanted, rival, recheck ms or -1 }
--       code 1: has the vote. 0: waits. -1: the id is dead. -2: the line has another capacity, given as token.
--       -3: no vote is to be had, and there was no wish to wait; nothing is left.
--@include clock.lua

-- Alone: by far the most common, and done before the functions of the other cases are even made. The server may vote, nobody stands in
-- the line, nothing is remembered of it but its last token, and the proposed one is larger.
local mark, known = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
if mark and string.sub(mark, 43) == ARGV[1] and #ARGV[4] == 32 and ARGV[10] == '0' then
  local latest = tonumber(string.sub(mark, 17, 29))
  local last = not known and 0 or string.sub(known, 1, 3) == 'hfe' and tonumber(string.sub(known, 4))
  local token = tonumber(ARGV[9])
  if
    last and latest and now >= latest - STEP_BACK and now <= latest + TICK and string.sub(mark, 4, 16) + 0 <= now
    and token > last and token <= micros + 60000000
  then
    local lives = 1 + ARGV[7]
    redis.call(
      'SET', KEYS[2],
      string.format('hf1%013.0f', now + lives) .. ARGV[4] .. ' ' .. ARGV[11] .. ' ' .. ARGV[9] .. ' ' .. ARGV[8] .. ' ' .. ARGV[5] .. ' '
        .. ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. ARGV[13] .. ' ' .. ARGV[14],
      'PX', lives + ARGV[3]
    )
    return { micros, 0, 1, token, 0, 0, -1 }
  end
end

--@include guard.lua
--@include line.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left ~= 0 then return { micros, left } end
local line = loadLine(KEYS[2])
local retention, id, ttl = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[7])
local capacity, round = tonumber(ARGV[6]), tonumber(ARGV[11])
purgeLine(line)
local answer = { micros, 0 }
local place = findPlace(line, id)
local oldest = line.places[1]
if isBuried(line, id) or isDisowned(line, ARGV[13], round) or (place and place[BROKEN] ~= 0) then
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
  if round > place[ROUND] then
    place[ROUND] = round
    -- Asked again, as in touch: the token is as new as the question. A waits with two votes of five, and the servers change twice; C held and left
    -- by the three others meanwhile. Two of the three that are left suffice now, and with the tokens of then A would go back behind C.
    if not isNew and ARGV[10] == '0' and place[FIXED] == 0 then
      local proposed = tonumber(ARGV[9])
      if place[VOTED] == 0 then
        place[TOKEN] = proposed
      elseif proposed > line.last then
        raiseToken(line, place, proposed, false)
      end
    end
  end
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
