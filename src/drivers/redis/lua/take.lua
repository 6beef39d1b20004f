-- Takes from a rate limit, if there is enough: the generic cell rate algorithm, on the server's clock.
-- KEYS  the bucket: the time, in microseconds, at which it will be full again; absent when it is full
-- ARGV  burst (how many can be taken at once), microseconds until one comes back, how many to take
-- Gives { 1 if taken, how many are left, microseconds until the same wish could be granted }.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local burst, interval, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local full = tonumber(redis.call('GET', KEYS[1]))
if not full or full < now then full = now end
local next = full + cost * interval
local allowed = now + burst * interval
if next > allowed then return { 0, math.floor((allowed - full) / interval), math.ceil(next - allowed) } end
if cost > 0 then redis.call('SET', KEYS[1], string.format('%.0f', next), 'PX', math.ceil((next - now) / 1000)) end
return { 1, math.floor((allowed - next) / interval), 0 }
