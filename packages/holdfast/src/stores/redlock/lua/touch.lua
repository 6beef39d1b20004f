-- Renews places, proposes or settles their tokens, and answers where they stand.
-- KEYS  the marker, the lines
-- ARGV  seal, part (see guard.lua), token retention ms, then for each line: how many places, and for each of them
--       id, proposed token, 1 if the owner holds with it already or 2 if it would, where its vote still lives, round
-- Gives { time µs, silence ms, then for each place five items as enter does; code -1: gone, or broken }
--@include clock.lua
--@include guard.lua
--@include line.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left ~= 0 then return { micros, left } end
local answer = { micros, 0 }
local at = 4
for i = 2, #KEYS do
  local line = loadLine(KEYS[i])
  purgeLine(line)
  settleLine(line, '')
  local places = {}
  for n = 1, tonumber(ARGV[at]) do
    local from = at + 4 * n - 3
    local place = findPlace(line, ARGV[from])
    if place and place[BROKEN] == 0 then
      local proposed, how, round = tonumber(ARGV[from + 1]), ARGV[from + 2], tonumber(ARGV[from + 3])
      place[LAPSE] = now + 1 + place[TTL]
      line.dirty = true
      -- An older request that was long under way must not change what a newer one has settled.
      if round >= place[ROUND] then
        place[ROUND] = round
        if place[VOTED] == 0 then
          place[TOKEN], place[FIXED] = proposed, how == '1' and 1 or 0
        elseif how == '1' then
          raiseToken(line, place, proposed, true)
        elseif how == '2' then
          -- Written beside the vote, and not fixed: it may fail. A settles 8 here, hears of too few, and gives the vote back; B holds with 9 and
          -- leaves; A gets the vote again: with 8 it would go back. And a copy that comes later still must not take the new one down.
          if place[FIXED] == 0 and proposed >= place[TOKEN] then
            place[TOKEN], line.last = proposed, math.max(line.last, proposed)
          end
        elseif place[FIXED] == 0 and proposed > line.last then
          raiseToken(line, place, proposed, false)
        end
      end
      places[n] = place
    else
      places[n] = false
    end
  end
  for _, place in ipairs(places) do
    if place then
      answerFor(line, place, answer)
    else
      for _, item in ipairs({ -1, 0, 0, 0, -1 }) do answer[#answer + 1] = item end
    end
  end
  at = at + 1 + 4 * tonumber(ARGV[at])
  saveLine(line, tonumber(ARGV[3]))
  tellLine(line, KEYS[1])
end
return answer
