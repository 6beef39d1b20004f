-- Takes from a rate limit, if there is enough: the generic cell rate algorithm as a bucket that drains, on the server's clock.
-- The same arithmetic as core/bucket.ts, in whole numbers.
-- KEYS  the bucket: "level at refused shutUntil", times in microseconds; absent when it is empty and not shut.
--       Where one unit drains in a microsecond and nothing was refused, it is only the time at which it will be empty:
--       to take four numbers apart and put them together was a third of the script's cost.
-- ARGV  how many to take, how many it holds, units for one, units that drain in a microsecond,
--       refusals after which it is shut (0 for never), milliseconds for which it is then shut
-- Gives { 1 if taken, how many could be taken now, microseconds until the same wish could be granted,
--         microseconds until it is empty, 1 if shut }.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local cost, burst, unit, drain = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local shutAfter, shutUs = tonumber(ARGV[5]), ARGV[6] * 1000
local level, at, refused, shutUntil = 0, now, 0, 0
local kept = redis.call('GET', KEYS[1])
if kept then
  local empty = tonumber(kept)
  if empty then
    -- A clock that went back makes it look fuller than it can be: at worst it is full.
    level = math.min(math.max(0, empty - now), burst * unit)
  else
    local a, b, c, d = string.match(kept, '^(%d+) (%d+) (%d+) (%d+)$')
    level, at, refused, shutUntil = tonumber(a), tonumber(b), tonumber(c), tonumber(d)
  end
end
-- A clock that went back drains nothing, and does not wait for itself to catch up either.
level = math.max(0, level - math.max(0, now - at) * drain)
if level == 0 and shutUntil <= now then refused = 0 end

local room = burst * unit - level
local taken, retry = 0, 0
if shutUntil > now then
  retry = shutUntil - now
elseif cost * unit <= room then
  taken, level = 1, level + cost * unit
else
  if shutAfter > 0 then refused = refused + cost end
  retry = math.ceil((cost * unit - room) / drain)
  if shutAfter > 0 and refused > shutAfter then
    shutUntil, refused = now + shutUs, 0
    retry = shutUs
  end
end

local reset = math.ceil(level / drain)
local shut = shutUntil > now and 1 or 0
local keepUs = math.max(reset, shutUntil - now)
if cost > 0 and keepUs > 0 then
  local state
  if drain == 1 and refused == 0 and shut == 0 then state = string.format('%.0f', now + level)
  else state = string.format('%.0f %.0f %.0f %.0f', level, now, refused, shut == 1 and shutUntil or 0) end
  redis.call('SET', KEYS[1], state, 'PX', math.ceil(keepUs / 1000))
end
local left = shut == 1 and 0 or math.floor((burst * unit - level) / unit)
return { taken, left, retry, reset, shut }
