-- Stands between fence.lua and a script that is guarded: checks, and takes its own key and arguments away again.
-- KEYS  the caller's, then the guard's
-- ARGV  the caller's, then token and place
-- Gives the error HFSTALE and the newest token when the token is stale, and the caller's script does not run.
local holdfast_newest = holdfast_fence(KEYS[#KEYS], ARGV[#ARGV - 1], ARGV[#ARGV])
if holdfast_newest then
  return redis.error_reply('HFSTALE ' .. holdfast_newest)
end
KEYS[#KEYS] = nil
ARGV[#ARGV] = nil
ARGV[#ARGV] = nil
