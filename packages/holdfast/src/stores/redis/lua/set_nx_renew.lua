-- Gives a key of the classic recipe a new lease, if its value is the owner's.
-- KEYS  the lock
-- ARGV  value, ttl ms
-- Gives 1 if it was renewed, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
