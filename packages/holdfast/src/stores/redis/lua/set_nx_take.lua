-- Takes a lock by the classic recipe. A value that is there already is the owner's own when a reply was lost: it is renewed.
-- KEYS  the lock
-- ARGV  value, ttl ms
-- Gives 1 if it is the owner's now, else 0.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
