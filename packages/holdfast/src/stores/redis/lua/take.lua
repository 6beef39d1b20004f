-- Takes from rate limits, from each if there is enough: the generic cell rate algorithm as a bucket that drains, on the
-- server's clock. The same arithmetic as contract/bucket.ts, in whole numbers.
-- KEYS  the buckets: level, at, when the key expires, and where refusals were counted also how many and shut until when;
--       numbers of 8 bytes, times in microseconds. Absent when it is empty and not shut.
-- ARGV  units to take, units it holds, units that drain in a microsecond, and where refusals are counted also how many
--       are taken, refusals after which it is shut, milliseconds for which it is then shut
-- Gives for a bucket its level in units if they were taken, and -1 - level if not; where refusals are or were counted
--       { 1 if taken, level, microseconds until the same wish could be granted, 1 if shut }.
--       For several buckets a list of those, or of errors: what is wrong with one does not undo the others.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wish, brim, drain = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local counts, answers = ARGV[4], nil
if KEYS[2] then answers = {} end

-- One loop without functions: to make a function costs as much as a GET.
for i = 1, #KEYS do
  local raw = redis.pcall('GET', KEYS[i])
  local level, at, keep, refused, shutUntil, wrong = 0, now, 0, 0, 0, nil
  if raw then
    if #raw == 24 then level, at, keep = struct.unpack('<ddd', raw)
    elseif #raw == 40 then level, at, keep, refused, shutUntil = struct.unpack('<ddddd', raw)
    elseif raw.err then wrong = raw
    else wrong = redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[i]) end
    -- A clock that went back drains nothing. Nobody waits for that clock to catch up either: neither for the bucket to
    -- drain (so a refusal writes the new time) nor for the key to open.
    if now > at then level = level - (now - at) * drain end
    if level < 0 then level = 0 end
    if counts then shutUntil = math.min(shutUntil, now + ARGV[6] * 1000) end
  end

  local answer
  local isChanged = wish > 0
  if wrong then
    answer, isChanged = wrong, false
  elseif not counts and refused == 0 and shutUntil == 0 then
    if wish <= brim - level then
      level = level + wish
      answer = level
    else
      answer, isChanged = -1 - level, now < at
    end
  else
    if shutUntil <= now then
      shutUntil = 0
      if level == 0 then refused = 0 end
    end
    local taken, retry = 0, 0
    if shutUntil > 0 then
      retry = shutUntil - now
    elseif wish <= brim - level then
      taken, level = 1, level + wish
    else
      retry = math.ceil((wish - brim + level) / drain)
      if counts then
        refused = refused + counts
        if refused > tonumber(ARGV[5]) then
          retry = ARGV[6] * 1000
          shutUntil, refused = now + retry, 0
        end
      end
    end
    answer = { taken, level, retry, shutUntil > 0 and 1 or 0 }
  end

  if isChanged then
    -- The key expires when the bucket is empty, or a second later, so that most takes can leave it as it is.
    local needed, ms = now + level / drain, nil
    if shutUntil > needed then needed = shutUntil end
    if keep < needed then
      ms = math.ceil(needed / 1000) + 1000
      keep = ms * 1000
    end
    if refused == 0 and shutUntil == 0 then raw = struct.pack('<ddd', level, now, keep)
    else raw = struct.pack('<ddddd', level, now, keep, refused, shutUntil) end
    local written
    if ms then written = redis.pcall('SET', KEYS[i], raw, 'PXAT', ms)
    else written = redis.pcall('SET', KEYS[i], raw, 'KEEPTTL') end
    if written.err then answer = written end
  end
  if not answers then return answer end
  answers[i] = answer
end
return answers
