-- Asks that changes of a line be published for a while.
-- KEYS  the line, its queue
-- ARGV  for how many ms, token retention ms
--@include line.lua
local raw = redis.call('GET', KEYS[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local line = loadLine(KEYS[1], KEYS[2], tonumber(ARGV[2]), raw)
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1]) end
line.observed = math.max(line.observed, now + tonumber(ARGV[1]))
line.dirty = true
saveLine(line, now)
return 1
