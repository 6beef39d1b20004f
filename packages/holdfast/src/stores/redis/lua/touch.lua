-- Renews places and tells where they stand, many lines in one call. What has lapsed or is broken is not renewed.
-- KEYS  for each line: the line, its queue
-- ARGV  token retention ms, then for each line: how many ids, and the ids
-- Gives for each id, in order, what enter gives; nil: the place is gone.
--@include line.lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local retention = tonumber(ARGV[1])
local answers = {}
local at = 2

local function touchLine(line, from, till)
  settleLine(line, now)
  for i = from, till do
    local answer = false
    local place, number = findPlace(line, ARGV[i])
    if place and place.lapse <= now then
      removePlace(line, number, place)
      settleLine(line, now)
    elseif place and not place.broken then
      renewPlace(line, number, place, now)
      answer = answerFor(line, number, place, now)
    end
    answers[#answers + 1] = answer
  end
  saveLine(line, now)
  tellLine(line, now)
end

for i = 1, #KEYS, 2 do
  local raw = redis.call('GET', KEYS[i])
  local count = tonumber(ARGV[at])
  local from, till = at + 1, at + count
  at = till + 1
  -- Most lines have one place, and it is the one that is asked for.
  if raw and count == 1 and string.sub(raw, FORM) == 'hf1' and string.sub(raw, LONE_ID) == ARGV[from] then
    local keep, token, lapse = struct.unpack('<I6dI6', raw, 4)
    local written
    if lapse > now and string.sub(raw, LONE_MARK) == '0' then
      lapse = now + 1 + tonumber(string.sub(raw, LONE_TTL), 16)
      if keep >= lapse + retention then
        raw = string.sub(raw, LONE_UP_TO_TOKEN) .. struct.pack('<I6', lapse) .. string.sub(raw, LONE_SENT)
        written = redis.pcall('SET', KEYS[i], raw, 'KEEPTTL')
      else
        keep = lapse + 2 * retention
        raw = struct.pack(LONE_HEAD, 'hf1', keep, token, lapse) .. string.sub(raw, LONE_SENT)
        written = redis.pcall('SET', KEYS[i], raw, 'PXAT', keep)
      end
    end
    if written and not written.err then
      answers[#answers + 1] = token
    else
      touchLine(loadLine(KEYS[i], KEYS[i + 1], retention, redis.call('GET', KEYS[i])), from, till)
    end
  else
    local line = raw and loadLine(KEYS[i], KEYS[i + 1], retention, raw)
    if line and line.count > 0 then
      touchLine(line, from, till)
    else
      for _ = from, till do answers[#answers + 1] = false end
    end
  end
end
return answers
