-- Gives a key of the classic recipe another value and a new lease, if its value is the owner's, or the new one already.
-- KEYS  the lock
-- ARGV  old value, new value, ttl ms
-- Gives 1 if it is the new owner's now, else 0.
local value = redis.call('GET', KEYS[1])
if value ~= ARGV[1] and value ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
