-- Removes places that their owner gave up without an answer, and refuses what is still under way for them. Works in silence, as leave does.
-- KEYS  the marker, the line
-- ARGV  seal, part (see guard.lua), token retention ms, inbox, ms for which requests may still be under way, the latest round of which
--       no answer is waited for, then of each place its id and the round it was given up in
-- Gives { time µs, silence ms, how many were there }
--@include clock.lua
--@include guard.lua
--@include line.lua
local left = silence(KEYS[1], ARGV[1], ARGV[2])
local line = loadLine(KEYS[2])
local ttl, ended = tonumber(ARGV[5]), tonumber(ARGV[6])
purgeLine(line)
local rounds = {}
for i = 7, #ARGV, 2 do
  rounds[ARGV[i]] = tonumber(ARGV[i + 1])
  -- Newer than a request that its owner still waits for: only this id is too late.
  if rounds[ARGV[i]] > ended then buryId(line, ARGV[i], ttl) end
end
disown(line, ARGV[4], ended, ttl)
local removed = 0
for i = #line.places, 1, -1 do
  local place = line.places[i]
  local round = rounds[place[ID]]
  -- Neither one that is to stay for a while, nor one that was broken, nor one that was entered again since.
  if round and place[BROKEN] == 0 and place[ROUND] <= round then
    table.remove(line.places, i)
    line.dirty, line.changed = true, true
    removed = removed + 1
  end
end
if left == 0 then settleLine(line, '') end
saveLine(line, tonumber(ARGV[3]))
tellLine(line, KEYS[1])
return { micros, left, removed }
