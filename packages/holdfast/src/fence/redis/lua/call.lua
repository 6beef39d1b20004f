-- One command on one key, behind fence.lua and guarded.lua.
-- KEYS  the key of the command
-- ARGV  the command, and its arguments behind the key
-- Gives the command's own reply.
return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
