-- Deletes a key of the classic recipe: if its value is the owner's, or, without a value, whoever's it is.
-- KEYS  the lock
-- ARGV  value, or nothing
-- Gives 1 if it was deleted, else 0.
if not ARGV[1] or redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
