-- Joins lines, or answers where an id stands already and renews it.
-- KEYS  for each line: the line, its queue
-- ARGV  ttl ms, ms that a line must outlive now if nobody else is in it: ttl and token retention, 1 to wait or 0 to try,
--       then for each line what the owner sends, as stored (see line.lua: capacity, ttl, weight, 0, id, inbox, data)
-- Gives for a line a token: the place is granted, nobody is in front and nobody behind;
--       { token, weight in front, recheck ms or -1, wanted }: where it stands;
--       { -1, capacity }: the line is in use with another capacity, nothing was changed;
--       nil: no room and no wish to wait, or the id is dead.
--       For several lines a list of those.
local call, sub, pack = redis.call, string.sub, struct.pack
local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local needed, lapse = now + 1 + ARGV[2], now + 1 + ARGV[1]
local isOne, answers, others, raw = not KEYS[3], {}, nil, nil
-- What stands before a lone place, and whose token and expiry that has: the same for most lines of one call.
local lone, loneToken, loneKeep
-- An expiry that must be moved is set ahead by one retention, so that the next ones can leave it as it is.
local moved, movedText = nil, nil

-- Most calls end here: free lines. The token is the time, unless the line has given out a higher one (the clock went back).
-- The lease has one millisecond more, since `now` is rounded down: it is never shorter than its ttl.
for i = 1, #KEYS, 2 do
  -- Within a line everything keeps its order: behind one that is put off, the rest are put off, too.
  raw = others and others[KEYS[i]] and 'later' or call('GET', KEYS[i])
  local n = (i + 1) / 2
  if not raw or sub(raw, FORM) == 'hf0' then
    local keep, last, token = 0, 0, micros
    if raw then keep, last = struct.unpack('<I6d', raw, 4) end
    if last >= token then token = last + 1 end
    local isKept = keep >= needed
    if not isKept then
      if not moved then
        moved = needed + ARGV[2] - ARGV[1]
        movedText = string.format('%.0f', moved)
      end
      keep = moved
    end
    if keep ~= loneKeep or token ~= loneToken then
      lone, loneKeep, loneToken = pack(LONE_HEAD, 'hf1', keep, token, lapse), keep, token
    end
    if isKept then call('SET', KEYS[i], lone .. ARGV[n + 3], 'KEEPTTL')
    else call('SET', KEYS[i], lone .. ARGV[n + 3], 'PXAT', movedText) end
    if isOne then return token end
    answers[n] = token
  else
    local answer
    local form, sent = sub(raw, FORM), ARGV[n + 3]
    -- A mutex that somebody has: the place goes to the end. All the rest, and whatever else there is to do, is below.
    if ARGV[3] == '1' and sub(sent, SENT_CAPACITY) == '00001' then
      local id = sub(sent, SENT_ID)
      local token = micros
      if form == 'hf1' and sub(raw, LONE_CAPACITY) == '00001' then
        -- It is the first that waits: what the line is like follows from that.
        local keep, last, lapsesFrom = struct.unpack('<I6dI6', raw, 4)
        if now < lapsesFrom and math.max(lapse, lapsesFrom) + ARGV[2] - ARGV[1] <= keep and sub(raw, LONE_ID) ~= id then
          if last >= token then token = last + 1 end
          local queueKeep = lapse + ARGV[1]
          call('HSET', KEYS[i + 1], 2, pack(STAMP, token, lapse) .. sent, id, 2)
          call('PEXPIREAT', KEYS[i + 1], queueKeep)
          call('SET', KEYS[i], pack(
            HEADER, 'hf2', 1, token, 1, 2, 1, 1, 2, 0, 0, 0, lapsesFrom, queueKeep, keep
          ) .. sub(raw, LONE_PLACE), 'KEEPTTL')
          answer = { token, 1, lapsesFrom - now, 0 }
        end
      elseif form == 'hf2' then
        local _, capacity, last, used, count, head, granted, tail, graveHead, graveTail, observed,
          lapsesFrom, queueKeep, keep = struct.unpack(HEADER, raw)
        if capacity == 1 and used == 1 and now < lapsesFrom and observed <= now and graveHead == graveTail
          and tail - head < 2 * count + 256 and tail < 2000000000 and (count < 63 or tail % 32 ~= 31)
          and lapse <= queueKeep and lapse + ARGV[2] - ARGV[1] <= keep
          and sub(raw, FIRST_ID) ~= id and not call('HGET', KEYS[i + 1], id) then
          if last >= token then token = last + 1 end
          tail = tail + 1
          call('HSET', KEYS[i + 1], tail, pack(STAMP, token, lapse) .. sent, id, tail)
          call('SET', KEYS[i], pack(
            HEADER, 'hf2', capacity, token, used, count + 1, head, granted, tail, graveHead, graveTail,
            observed, lapsesFrom, queueKeep, keep
          ) .. sub(raw, FIRST), 'KEEPTTL')
          answer = { token, 1, lapsesFrom - now, 0 }
        end
      end
      if answer then
        if isOne then return answer end
        answers[n] = answer
      end
    end
    if not answer then
      others = others or {}
      others[#others + 1], others[KEYS[i]] = n, true
    end
  end
end
if not others then return answers end

--@include line.lua
local ttl = tonumber(ARGV[1])
for _, n in ipairs(others) do
  local key = KEYS[2 * n - 1]
  -- Read again among several: the same line may have come before.
  if not isOne then raw = redis.call('GET', key) end
  local place = makePlace(micros, now + 1 + ttl, ARGV[n + 3])
  local line = loadLine(key, KEYS[2 * n], ARGV[2] - ttl, raw)
  if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. key) end
  clearGraves(line, now)
  settleLine(line, now)
  if line.count > 0 then renumberLine(line) end

  local answer = false
  local present, number = findPlace(line, place.id)
  if present then
    if present.lapse <= now then
      removePlace(line, number, present)
      settleLine(line, now)
    elseif not present.broken then
      renewPlace(line, number, present, now)
      answer = answerFor(line, number, present, now)
    end
  elseif isBuried(line, place.id, now) then
    answer = false
  elseif line.count > 0 and line.capacity ~= place.capacity then
    answer = { -1, line.capacity }
  else
    local fits = hasRoom(line, place)
    if fits or ARGV[3] == '1' then
      local number = addPlace(line, place, fits)
      if line.count >= CROWD and number % 32 == 0 then sweepLine(line, now, micros) end
      answer = answerFor(line, number, place, now)
    end
  end
  saveLine(line, now)
  tellLine(line, now)
  if isOne then return answer end
  answers[n] = answer
end
return answers
