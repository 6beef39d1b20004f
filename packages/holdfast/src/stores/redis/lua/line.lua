-- The places of one line. Included by the scripts that meet more than a free line or a lone place; it runs nothing itself.
--
-- A line is one string (KEYS: the line), in one of three forms, told apart by their first three bytes:
--   hf0  nobody is in it: when the key expires (6 bytes), the last token (8 bytes)
--   hf1  one place, granted, nothing else: when the key expires, the place
--   hf2  anything else: the header below, then the first place if there is one
-- A place is its token (8 bytes), when it lapses (6 bytes), and what its owner sent, as text of fixed widths: capacity (5, in
-- hex as the next two), ttl (7), weight (5), a mark, id (32), inbox (12), data. The mark is 0; 1 if the place is broken; 2 if its
-- weight was changed, and then the turn of that (8, in hex) stands before the data; 3 if both.
-- The other places stand in a hash beside it (KEYS: the queue): number -> place, id -> number. Numbers run from `head`
-- (the first place, kept in the string) to `tail`; those up to `granted` are granted. A gap is a place that left.
-- `used` is what the granted ones weigh. One of them may have become heavier since: then `used` is above the capacity until the
-- others have gone. They stay granted, nobody else is, and the heavier one waits for them.
-- The same hash remembers ids that left before they entered: 'x' .. id -> until when, 'g' .. n -> id, in order of burial.
-- layout.lua names the bytes. All times are milliseconds of the server's own clock.

-- In one call no more graves than this are cleared, so that no call is long.
local GRAVES_PER_CALL = 16
-- In one call no more places than this are removed because they have lapsed: a host with 20 000 waiters dies, and one release
-- would stop the server for a fifth of a second. What is left is `unsettled`, and weighs until the next call.
local REMOVED_PER_CALL = 200
-- Once so many are in the line, every 32nd that comes looks at so many of those that wait, somewhere among them. So no more
-- of the dead are kept than about as many as live. (One waiter stays for an hour, and behind it processes come and crash.)
local CROWD, SWEPT_PER_CALL = 64, 64
-- Past every lapse, and still six bytes.
local NEVER = 281474976710655

local function makePlace(token, lapse, sent)
  local capacity, ttl, weight, mark, id, inbox = struct.unpack(SENT, sent)
  return {
    token = token, lapse = lapse, sent = sent, id = id, inbox = inbox,
    broken = mark == '1' or mark == '3', turned = mark == '2' or mark == '3',
    capacity = tonumber(capacity, 16), ttl = tonumber(ttl, 16), weight = tonumber(weight, 16),
  }
end

local function readPlace(raw, from)
  local token, lapse = struct.unpack(STAMP, raw, from)
  return makePlace(token, lapse, string.sub(raw, from + 14))
end

local function writePlace(place)
  return struct.pack(STAMP, place.token, place.lapse) .. place.sent
end

local function breakPlace(place)
  place.broken = true
  place.sent = string.sub(place.sent, 1, 17) .. (place.turned and '3' or '1') .. string.sub(place.sent, 19)
end

local function loadLine(key, queue, retention, raw)
  local line = {
    key = key, queue = queue, retention = retention,
    capacity = 0, token = 0, used = 0, count = 0, head = 0, granted = 0, tail = 0,
    graveHead = 0, graveTail = 0, observed = 0, lapsesFrom = 0, queueKeep = 0, keep = 0, pushes = {},
    -- `unsettled`: there was more to do than one call may. `relieved`: a place that had become heavier has the line for itself.
    left = REMOVED_PER_CALL, unsettled = false, relieved = false,
    -- `latest`: the latest lapse that this call has put into the queue. `dirty`: to be written back. `changed`: somebody came, went, or was granted.
    latest = 0, dirty = false, changed = false,
  }
  if not raw then return line end
  local form = string.sub(raw, FORM)
  if form == 'hf0' then
    line.keep, line.token = struct.unpack('<I6d', raw, 4)
  elseif form == 'hf1' then
    local front = readPlace(raw, 10)
    line.keep = struct.unpack('<I6', raw, 4)
    line.front, line.token, line.used, line.lapsesFrom = front, front.token, front.weight, front.lapse
    line.capacity = front.capacity
    line.count, line.head, line.granted, line.tail = 1, 1, 1, 1
  elseif form == 'hf2' then
    local _
    _, line.capacity, line.token, line.used, line.count, line.head, line.granted, line.tail, line.graveHead,
      line.graveTail, line.observed, line.lapsesFrom, line.queueKeep, line.keep = struct.unpack(HEADER, raw)
    if #raw > HEADER_BYTES then line.front = readPlace(raw, HEADER_BYTES + 1) end
  else
    return nil
  end
  return line
end

-- Writes the line back. Its expiry covers the latest place and the memory of its token. It is set ahead, so that most writes
-- leave it as it is, which is cheaper; and it only grows, until nobody is in the line and it is further off than it need be.
-- A release and a renewal must also work on a server that is out of memory: Redis refuses a script's writes only until the
-- script has made one, and PEXPIREAT is never refused.
local function saveLine(line, now)
  if not line.dirty then return end
  local front, retention, before = line.front, line.retention, line.keep
  local needed = math.max(now, front and front.lapse or 0, line.latest) + retention
  if line.observed > needed then needed = line.observed end
  local isEmpty = line.count == 0 and line.graveTail == line.graveHead and line.observed <= now
  if line.keep < needed or (isEmpty and line.keep > needed + 2 * retention) then line.keep = needed + retention end

  local raw
  if isEmpty then
    raw = struct.pack('<c3I6d', 'hf0', line.keep, line.token)
  elseif line.count == 1 and line.graveTail == line.graveHead and line.observed <= now and front.token == line.token then
    raw = struct.pack('<c3I6', 'hf1', line.keep) .. writePlace(front)
  else
    if line.count < 2 and line.graveTail == line.graveHead then line.queueKeep = 0 end
    raw = struct.pack(
      HEADER, 'hf2', line.capacity, line.token, line.used, line.count, line.head, line.granted, line.tail,
      line.graveHead, line.graveTail, line.observed, line.lapsesFrom, line.queueKeep, line.keep
    )
    if front then raw = raw .. writePlace(front) end
  end
  if line.keep == before then
    local written = redis.pcall('SET', line.key, raw, 'KEEPTTL')
    if not written.err then return end
  end
  local written = redis.pcall('SET', line.key, raw, 'PXAT', line.keep)
  if written.err then
    redis.call('PEXPIREAT', line.key, line.keep)
    redis.call('SET', line.key, raw, 'KEEPTTL')
  end
end

-- The queue must live as long as its latest place. Set ahead by one more ttl, so that not every renewal has to move it.
local function keepQueue(line, lapse, ttl)
  if lapse > line.latest then line.latest = lapse end
  if lapse <= line.queueKeep then return end
  line.queueKeep = lapse + ttl
  redis.call('PEXPIREAT', line.queue, line.queueKeep)
end

local function putPlace(line, number, place)
  line.dirty = true
  if number == line.head then
    line.front = place
  else
    local written = redis.pcall('HSET', line.queue, number, writePlace(place))
    if type(written) == 'table' then
      -- Out of memory: as in saveLine.
      redis.call('PEXPIREAT', line.queue, line.queueKeep)
      redis.call('HSET', line.queue, number, writePlace(place))
    end
    keepQueue(line, place.lapse, place.ttl)
  end
end

local function getPlace(line, number)
  if number == line.head then return line.front end
  local raw = redis.call('HGET', line.queue, number)
  return raw and readPlace(raw, 1)
end

-- The place with this id, and its number; nothing if there is none.
local function findPlace(line, id)
  if line.count == 0 then return nil end
  if line.front and line.front.id == id then return line.front, line.head end
  if line.count == 1 then return nil end
  local number = tonumber(redis.call('HGET', line.queue, id))
  -- Numbers begin anew after a loss of the line; what the queue still says of an old one is not to be believed.
  if not number or number <= line.head or number > line.tail then return nil end
  local place = getPlace(line, number)
  if place and place.id == id then return place, number end
end

-- The places from one number to another, in order; some may be removed meanwhile. Gaps are passed over in strides.
local function placesFrom(line, from, till)
  local fetched, fetchedTo, stride = {}, 0, 1
  return function()
    while line.count > 0 do
      if from < line.head then from = line.head end
      if from > till then return nil end
      local number = from
      from = from + 1
      if number == line.head then return number, line.front end
      if number > fetchedTo then
        fetchedTo = math.min(till, number + stride - 1)
        stride = math.min(2 * stride, 256)
        local numbers = {}
        for n = number, fetchedTo do numbers[#numbers + 1] = n end
        fetched = {}
        for i, raw in ipairs(redis.call('HMGET', line.queue, unpack(numbers))) do fetched[numbers[i]] = raw end
      end
      if fetched[number] then return number, readPlace(fetched[number], 1) end
    end
  end
end

-- Takes a place out. When it was the first, the next one moves into the string.
local function removePlace(line, number, place)
  line.changed, line.dirty = true, true
  line.count = line.count - 1
  if number <= line.granted then
    if line.used > line.capacity and line.used - place.weight <= line.capacity then line.relieved = true end
    line.used = line.used - place.weight
  end
  if number ~= line.head then
    redis.call('HDEL', line.queue, number, place.id)
    return
  end
  line.front = nil
  for next, heir in placesFrom(line, number + 1, line.tail) do
    line.front, line.head = heir, next
    redis.call('HDEL', line.queue, next, heir.id)
    return
  end
  -- Nobody is left, or the queue was lost (evicted): then its waiters find out by their next heartbeat.
  line.count, line.used, line.head, line.granted, line.tail, line.lapsesFrom = 0, 0, 0, 0, 0, 0
end

-- A place that has lapsed goes, unless this call has done enough: then it stays, and gives false.
local function removeLapsed(line, number, place)
  if line.left == 0 then
    line.unsettled = true
    return false
  end
  line.left = line.left - 1
  removePlace(line, number, place)
  return true
end

local function pushTo(line, place, message)
  local pushes = line.pushes
  pushes[place.inbox] = pushes[place.inbox] and pushes[place.inbox] .. ',' .. message or message
end

-- Removes who has lapsed among the granted, then lets in who now fits, in order, and tells them. Those behind the first
-- that does not fit are not looked at: they are blocked, whether they live or not.
local function settleLine(line, now)
  if line.count > 0 and now >= line.lapsesFrom then
    local from = NEVER
    for number, place in placesFrom(line, line.head, line.granted) do
      -- One that may not go yet is the earliest: whoever comes next goes on here.
      if (place.lapse > now or not removeLapsed(line, number, place)) and place.lapse < from then from = place.lapse end
      if line.unsettled then break end
    end
    line.lapsesFrom = from
    line.dirty = true
  end
  -- With the granted ones all gone, the first waiter has moved up, past `granted`.
  if line.granted < line.head then line.granted = line.head - 1 end
  if line.count == 0 or line.unsettled then return end
  if line.used == 0 then line.lapsesFrom = NEVER end
  for number, place in placesFrom(line, line.granted + 1, line.tail) do
    if place.lapse <= now then
      if not removeLapsed(line, number, place) then
        line.granted = number - 1
        return
      end
    elseif line.used + place.weight <= line.capacity then
      line.used = line.used + place.weight
      line.granted = number
      line.changed, line.dirty = true, true
      if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
      pushTo(line, place, place.id .. string.format(' %.0f', place.token))
    else
      line.granted = number - 1
      return
    end
  end
  line.granted = line.tail
end

-- Some of those that wait, if they have lapsed. Where to look is as good as random by the time.
local function sweepLine(line, now, micros)
  local from = line.granted + 1 + micros % math.max(1, line.tail - line.granted)
  for number, place in placesFrom(line, from, math.min(line.tail, from + SWEPT_PER_CALL - 1)) do
    if place.lapse <= now and number > line.granted and not removeLapsed(line, number, place) then return end
  end
end

-- Gaps are passed over one by one, and numbers have four bytes: before either hurts, the places are numbered anew.
-- (One reader stays for an hour, a million come and go behind it; or a busy line is never empty for days.)
local function renumberLine(line)
  if line.tail - line.head < 2 * line.count + 256 and line.tail < 2000000000 then return end
  local fields = redis.call('HGETALL', line.queue)
  local numbers, places = {}, {}
  for i = 1, #fields, 2 do
    -- An id may look like a number, but is longer.
    local number = #fields[i] <= 10 and tonumber(fields[i])
    if number and number > line.head and number <= line.tail then
      numbers[#numbers + 1] = number
      places[number] = fields[i + 1]
    end
  end
  table.sort(numbers)
  local granted = 1
  for i, number in ipairs(numbers) do
    if number <= line.granted then granted = i + 1 end
    if number ~= i + 1 then
      redis.call('HSET', line.queue, i + 1, places[number], readPlace(places[number], 1).id, i + 1)
      redis.call('HDEL', line.queue, number)
    end
  end
  line.head, line.granted, line.tail, line.count = 1, granted, #numbers + 1, #numbers + 1
  line.dirty = true
end

-- Tells the newly granted, each process in one message, and whoever observes the line.
local function tellLine(line, now)
  if line.relieved and line.used <= line.capacity then
    for _, place in placesFrom(line, line.head, line.granted) do
      if place.turned then pushTo(line, place, place.id .. string.format(' %.0f', place.token)) end
    end
  end
  for inbox, message in pairs(line.pushes) do
    redis.call('PUBLISH', string.match(line.key, '^[^{]*') .. 'inbox:' .. inbox, message)
  end
  if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end

-- { token, weight in front, ms until the earliest of those in front can lapse or -1, whether somebody stands behind }
local function answerFor(line, number, place, now)
  local recheck = line.unsettled and now or line.lapsesFrom
  if number <= line.granted then
    local ahead, wanted = line.used - place.weight, line.granted < line.tail and 1 or 0
    if line.used <= line.capacity then return { place.token, ahead, -1, wanted } end
    -- One has become heavier, and waits for the others; who was granted beside it stays so, and lets nobody in beside it.
    if place.turned then return { place.token, ahead, math.max(0, recheck - now), wanted } end
    return { place.token, math.min(ahead, line.capacity - place.weight), -1, 1 }
  end
  local wanted = number < line.tail and 1 or 0
  if line.capacity > 1 and number > line.granted + 1 then
    local blocker = getPlace(line, line.granted + 1)
    if blocker and blocker.lapse < recheck then recheck = blocker.lapse end
  end
  -- Blocked: the weights in front, as far as they must be counted to know that.
  return { place.token, math.max(line.used, line.capacity - place.weight + 1), math.max(0, recheck - now), wanted }
end

local function clearGraves(line, now)
  local left = GRAVES_PER_CALL
  while line.graveHead < line.graveTail and left > 0 do
    local id = redis.call('HGET', line.queue, 'g' .. line.graveHead)
    if id then
      local ends = redis.call('HGET', line.queue, 'x' .. id)
      if ends and tonumber(ends) > now then return end
      redis.call('HDEL', line.queue, 'g' .. line.graveHead, 'x' .. id)
    end
    line.dirty = true
    line.graveHead = line.graveHead + 1
    left = left - 1
  end
end

local function isBuried(line, id, now)
  if line.graveHead == line.graveTail then return false end
  local ends = redis.call('HGET', line.queue, 'x' .. id)
  return ends and tonumber(ends) > now
end

-- leave overtook its own enter: for one ttl an enter of this id finds that it is too late.
local function buryId(line, id, now, ttl)
  clearGraves(line, now)
  local lapse = now + 1 + ttl
  if redis.call('HSET', line.queue, 'x' .. id, string.format('%.0f', lapse)) == 1 then
    redis.call('HSET', line.queue, 'g' .. line.graveTail, id)
    line.graveTail = line.graveTail + 1
  end
  keepQueue(line, lapse, ttl)
  line.dirty = true
end

-- A new lease, from now on.
local function renewPlace(line, number, place, now)
  place.lapse = now + 1 + place.ttl
  if number <= line.granted then
    -- Alone among the granted, its lapse is the earliest; else the bound stays, and is made exact when it is reached.
    if line.used == place.weight or place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
  end
  putPlace(line, number, place)
end

-- Whether there is room for one more, now. Nobody overtakes: not while anybody waits.
local function hasRoom(line, place)
  return line.granted == line.tail and line.used + place.weight <= place.capacity
end

-- Puts a place at the end of the line; gives its number. Tokens rise within the line, whatever the clock does.
local function addPlace(line, place, fits)
  if line.token >= place.token then place.token = line.token + 1 end
  line.token = place.token
  line.capacity = place.capacity
  line.tail = line.tail + 1
  line.count = line.count + 1
  line.changed, line.dirty = true, true
  if line.count == 1 then
    line.head, line.granted, line.lapsesFrom = line.tail, line.tail - 1, NEVER
    line.front = place
  else
    redis.call('HSET', line.queue, line.tail, writePlace(place), place.id, line.tail)
    keepQueue(line, place.lapse, place.ttl)
  end
  if fits then
    line.granted = line.tail
    line.used = line.used + place.weight
    if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
  end
  return line.tail
end
