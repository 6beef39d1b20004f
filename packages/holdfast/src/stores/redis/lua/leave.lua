-- Gives places up. An id that is not in its line is dead from now on, for one ttl. A broken place stays until it lapses: A is
-- broken and told, it leaves, and its work goes on for a moment. B must not be served before A's lease has run out.
-- KEYS  for each place: the line, its queue
-- ARGV  token retention ms, ttl ms, after how many ms they shall lapse or '' to go at once, then for each place
--       0 and its id: as they stand in a place that is not broken
-- Gives 1 for a place that was there, else 0, and 2 if there was more to settle than one call may: call again.
--       For several places a list of those.
local isOne, answers, others, raw = not KEYS[3], {}, nil, nil
local keepsExpiry = tonumber(ARGV[2]) <= tonumber(ARGV[1])
local now

-- Most calls end here: the only one in the line goes. Its token stays behind; out of memory, the clock alone keeps tokens rising.
for i = 1, #KEYS, 2 do
  -- Within a line everything keeps its order: behind one that is put off, the rest are put off, too.
  raw = others and others[KEYS[i]] and 'later' or redis.call('GET', KEYS[i])
  local n = (i + 1) / 2
  if raw and string.sub(raw, FORM) == 'hf1' and string.sub(raw, LONE_MARK_AND_ID) == ARGV[n + 3] and ARGV[3] == '' then
    local written
    if keepsExpiry then
      written = redis.pcall('SET', KEYS[i], 'hf0' .. string.sub(raw, LONE_KEEP_AND_TOKEN), 'KEEPTTL')
    else
      -- The lease was longer than the token need be remembered: nothing shall lie about for so long.
      written = redis.pcall('SET', KEYS[i], 'hf0\0\0\0\0\0\0' .. string.sub(raw, LONE_TOKEN), 'PX', ARGV[1])
    end
    if written.err then redis.call('DEL', KEYS[i]) end
    if isOne then return 1 end
    answers[n] = 1
  elseif raw and string.sub(raw, FORM) == 'hf2' and string.sub(raw, FIRST_MARK_AND_ID) == ARGV[n + 3] and ARGV[3] == '' then
    -- The first one goes, and only the next one comes in its place, because it wants the whole line. All the rest is below.
    local _, capacity, token, used, count, head, granted, tail, graveHead, graveTail, observed, lapsesFrom, queueKeep, keep =
      struct.unpack(HEADER, raw)
    if not now then
      local time = redis.call('TIME')
      now = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    local number = head + 1
    -- Alone from now on, and the last that came: then the line is a lone place again.
    local isLone = count == 2 and graveHead == graveTail
    local isNext = granted == head and (count > 2 or isLone) and observed <= now
    local next = isNext and redis.call('HGET', KEYS[i + 1], number)
    local itsToken, lapse = 0, 0
    if next then itsToken, lapse = struct.unpack(STAMP, next) end
    if lapse > now and string.sub(next, PLACE_CAPACITY) == string.sub(next, PLACE_WEIGHT) and lapse + ARGV[1] <= keep
      and (not isLone or itsToken == token) then
      local id = string.sub(next, PLACE_ID)
      redis.call('HDEL', KEYS[i + 1], number, id)
      local form = isLone and struct.pack('<c3I6', 'hf1', keep) or struct.pack(
        HEADER, 'hf2', capacity, token, capacity, count - 1, number, number, tail, graveHead, graveTail,
        observed, lapse, queueKeep, keep
      )
      redis.call('SET', KEYS[i], form .. next, 'KEEPTTL')
      redis.call(
        'PUBLISH', string.match(KEYS[i], '^[^{]*') .. 'inbox:' .. string.sub(next, PLACE_INBOX),
        id .. string.format(' %.0f', itsToken)
      )
      if isOne then return 1 end
      answers[n] = 1
    end
  end
  if not answers[n] then
    others = others or {}
    others[#others + 1], others[KEYS[i]] = n, true
  end
end
if not others then return answers end

--@include line.lua
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for _, n in ipairs(others) do
  local key, id = KEYS[2 * n - 1], string.sub(ARGV[n + 3], 2)
  -- Read again among several: the same line may have come before.
  if not isOne then raw = redis.call('GET', key) end
  local line = loadLine(key, KEYS[2 * n], tonumber(ARGV[1]), raw)
  if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. key) end
  local place, number = findPlace(line, id)
  if not place then
    buryId(line, id, now, tonumber(ARGV[2]))
  elseif ARGV[3] == '' then
    if not place.broken then removePlace(line, number, place) end
  elseif not place.broken then
    breakPlace(place)
    place.lapse = math.min(place.lapse, now + 1 + tonumber(ARGV[3]))
    if number <= line.granted and place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
    putPlace(line, number, place)
  end
  settleLine(line, now)
  saveLine(line, now)
  tellLine(line, now)
  answers[n] = line.unsettled and 2 or place and 1 or 0
end
return isOne and answers[1] or answers
