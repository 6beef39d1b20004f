/** Made by scripts/embed.js from the script files beside it. Do not edit. */

export const BREAK: string = `local HEADER = '<c3I4dI4I4I4I4I4I4I4I6I6I6I6'
local HEADER_BYTES = 67
local GRAVES_PER_CALL = 16
local NEVER = 281474976710655
local function makePlace(token, lapse, sent)
local capacity, ttl, weight, broken, id, inbox = struct.unpack('c5c7c5c1c32c12', sent)
return {
token = token, lapse = lapse, sent = sent, id = id, inbox = inbox, broken = broken == '1',
capacity = tonumber(capacity, 16), ttl = tonumber(ttl, 16), weight = tonumber(weight, 16),
}
end
local function readPlace(raw, from)
local token, lapse = struct.unpack('<dI6', raw, from)
return makePlace(token, lapse, string.sub(raw, from + 14))
end
local function writePlace(place)
return struct.pack('<dI6', place.token, place.lapse) .. place.sent
end
local function breakPlace(place)
place.broken = true
place.sent = string.sub(place.sent, 1, 17) .. '1' .. string.sub(place.sent, 19)
end
local function loadLine(key, queue, retention, raw)
local line = {
key = key, queue = queue, retention = retention,
capacity = 0, token = 0, used = 0, count = 0, head = 0, granted = 0, tail = 0,
graveHead = 0, graveTail = 0, observed = 0, lapsesFrom = 0, queueKeep = 0, keep = 0, pushes = {},
latest = 0, dirty = false, changed = false,
}
if not raw then return line end
local form = string.sub(raw, 1, 3)
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
local function findPlace(line, id)
if line.count == 0 then return nil end
if line.front and line.front.id == id then return line.front, line.head end
if line.count == 1 then return nil end
local number = tonumber(redis.call('HGET', line.queue, id))
if not number or number <= line.head or number > line.tail then return nil end
local place = getPlace(line, number)
if place and place.id == id then return place, number end
end
local function removePlace(line, number, place)
line.changed, line.dirty = true, true
line.count = line.count - 1
if number <= line.granted then line.used = line.used - place.weight end
if number ~= line.head then
redis.call('HDEL', line.queue, number, place.id)
return
end
line.front = nil
if line.count > 0 then
for next = number + 1, line.tail do
local raw = redis.call('HGET', line.queue, next)
if raw then
line.front, line.head = readPlace(raw, 1), next
redis.call('HDEL', line.queue, next, line.front.id)
return
end
end
end
line.count, line.used, line.head, line.granted, line.tail, line.lapsesFrom = 0, 0, 0, 0, 0, 0
end
local function pushTo(line, place, message)
local pushes = line.pushes
pushes[place.inbox] = pushes[place.inbox] and pushes[place.inbox] .. ',' .. message or message
end
local function settleLine(line, now)
if line.count > 0 and now >= line.lapsesFrom then
local from = NEVER
for number = line.head, line.granted do
local place = line.count > 0 and getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
elseif place.lapse < from then
from = place.lapse
end
end
end
line.lapsesFrom = from
line.dirty = true
end
if line.granted < line.head then line.granted = line.head - 1 end
if line.count == 0 then return end
if line.used == 0 then line.lapsesFrom = NEVER end
for number = line.granted + 1, line.tail do
local place = getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
if line.count == 0 then return end
elseif line.used + place.weight <= line.capacity then
line.used = line.used + place.weight
line.granted = number
line.changed, line.dirty = true, true
if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
pushTo(line, place, place.id .. string.format(' %.0f', place.token))
else
return
end
else
line.granted = number
end
end
end
local function renumberLine(line)
if line.tail - line.head < 2 * line.count + 256 and line.tail < 2000000000 then return end
local fields = redis.call('HGETALL', line.queue)
local numbers, places = {}, {}
for i = 1, #fields, 2 do
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
local function tellLine(line, now)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', string.match(line.key, '^[^{]*') .. 'inbox:' .. inbox, message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, number, place, now)
local wanted = number < line.tail and line.count > 1 and 1 or 0
if number <= line.granted then return { place.token, line.used - place.weight, -1, wanted } end
local recheck = line.lapsesFrom
if line.capacity > 1 and number > line.granted + 1 then
local blocker = getPlace(line, line.granted + 1)
if blocker and blocker.lapse < recheck then recheck = blocker.lapse end
end
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
local function renewPlace(line, number, place, now)
place.lapse = now + 1 + place.ttl
if number <= line.granted then
if line.used == place.weight or place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
end
putPlace(line, number, place)
end
local function hasRoom(line, place)
return line.granted == line.tail and line.used + place.weight <= place.capacity
end
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
local raw = redis.call('GET', KEYS[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local line = loadLine(KEYS[1], KEYS[2], tonumber(ARGV[2]), raw)
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1]) end
if line.count == 0 then return 0 end
settleLine(line, now)
local broken = 0
for number = line.head, line.granted do
local place = line.count > 0 and getPlace(line, number)
if place then
broken = broken + 1
pushTo(line, place, place.id)
if ARGV[1] == '1' then
removePlace(line, number, place)
else
breakPlace(place)
line.changed = true
putPlace(line, number, place)
end
end
end
settleLine(line, now)
saveLine(line, now)
tellLine(line, now)
return broken
`

export const ENTER: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local needed, lapse = now + 1 + ARGV[2], now + 1 + ARGV[1]
local isOne, answers, others, raw = not KEYS[3], {}, nil, nil
for i = 1, #KEYS, 2 do
raw = others and others[KEYS[i]] and 'later' or redis.call('GET', KEYS[i])
local n = (i + 1) / 2
if not raw or string.sub(raw, 1, 3) == 'hf0' then
local keep, last, token = 0, 0, micros
if raw then keep, last = struct.unpack('<I6d', raw, 4) end
if last >= token then token = last + 1 end
if keep >= needed then
redis.call('SET', KEYS[i], struct.pack('<c3I6dI6', 'hf1', keep, token, lapse) .. ARGV[n + 3], 'KEEPTTL')
else
keep = needed + ARGV[2] - ARGV[1]
redis.call('SET', KEYS[i], struct.pack('<c3I6dI6', 'hf1', keep, token, lapse) .. ARGV[n + 3], 'PXAT', keep)
end
if isOne then return token end
answers[n] = token
else
local answer
if string.sub(raw, 1, 3) == 'hf2' and ARGV[3] == '1' then
local sent = ARGV[n + 3]
local _, capacity, last, used, count, head, granted, tail, graveHead, graveTail, observed, lapsesFrom, queueKeep, keep =
struct.unpack('<c3I4dI4I4I4I4I4I4I4I6I6I6I6', raw)
if capacity == 1 and used == 1 and string.sub(sent, 1, 5) == '00001' and now < lapsesFrom and observed <= now
and graveHead == graveTail and tail - head < 2 * count + 256 and tail < 2000000000
and lapse <= queueKeep and lapse + ARGV[2] - ARGV[1] <= keep then
local id = string.sub(sent, 19, 50)
if string.sub(raw, 100, 131) ~= id and not redis.call('HGET', KEYS[i + 1], id) then
local token = micros
if last >= token then token = last + 1 end
tail = tail + 1
redis.call('HSET', KEYS[i + 1], tail, struct.pack('<dI6', token, lapse) .. sent, id, tail)
redis.call('SET', KEYS[i], struct.pack(
'<c3I4dI4I4I4I4I4I4I4I6I6I6I6', 'hf2', capacity, token, used, count + 1, head, granted, tail, graveHead, graveTail,
observed, lapsesFrom, queueKeep, keep
) .. string.sub(raw, 68), 'KEEPTTL')
answer = { token, 1, lapsesFrom - now, 0 }
if isOne then return answer end
answers[n] = answer
end
end
end
if not answer then
others = others or {}
others[#others + 1], others[KEYS[i]] = n, true
end
end
end
if not others then return answers end
local HEADER = '<c3I4dI4I4I4I4I4I4I4I6I6I6I6'
local HEADER_BYTES = 67
local GRAVES_PER_CALL = 16
local NEVER = 281474976710655
local function makePlace(token, lapse, sent)
local capacity, ttl, weight, broken, id, inbox = struct.unpack('c5c7c5c1c32c12', sent)
return {
token = token, lapse = lapse, sent = sent, id = id, inbox = inbox, broken = broken == '1',
capacity = tonumber(capacity, 16), ttl = tonumber(ttl, 16), weight = tonumber(weight, 16),
}
end
local function readPlace(raw, from)
local token, lapse = struct.unpack('<dI6', raw, from)
return makePlace(token, lapse, string.sub(raw, from + 14))
end
local function writePlace(place)
return struct.pack('<dI6', place.token, place.lapse) .. place.sent
end
local function breakPlace(place)
place.broken = true
place.sent = string.sub(place.sent, 1, 17) .. '1' .. string.sub(place.sent, 19)
end
local function loadLine(key, queue, retention, raw)
local line = {
key = key, queue = queue, retention = retention,
capacity = 0, token = 0, used = 0, count = 0, head = 0, granted = 0, tail = 0,
graveHead = 0, graveTail = 0, observed = 0, lapsesFrom = 0, queueKeep = 0, keep = 0, pushes = {},
latest = 0, dirty = false, changed = false,
}
if not raw then return line end
local form = string.sub(raw, 1, 3)
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
local function findPlace(line, id)
if line.count == 0 then return nil end
if line.front and line.front.id == id then return line.front, line.head end
if line.count == 1 then return nil end
local number = tonumber(redis.call('HGET', line.queue, id))
if not number or number <= line.head or number > line.tail then return nil end
local place = getPlace(line, number)
if place and place.id == id then return place, number end
end
local function removePlace(line, number, place)
line.changed, line.dirty = true, true
line.count = line.count - 1
if number <= line.granted then line.used = line.used - place.weight end
if number ~= line.head then
redis.call('HDEL', line.queue, number, place.id)
return
end
line.front = nil
if line.count > 0 then
for next = number + 1, line.tail do
local raw = redis.call('HGET', line.queue, next)
if raw then
line.front, line.head = readPlace(raw, 1), next
redis.call('HDEL', line.queue, next, line.front.id)
return
end
end
end
line.count, line.used, line.head, line.granted, line.tail, line.lapsesFrom = 0, 0, 0, 0, 0, 0
end
local function pushTo(line, place, message)
local pushes = line.pushes
pushes[place.inbox] = pushes[place.inbox] and pushes[place.inbox] .. ',' .. message or message
end
local function settleLine(line, now)
if line.count > 0 and now >= line.lapsesFrom then
local from = NEVER
for number = line.head, line.granted do
local place = line.count > 0 and getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
elseif place.lapse < from then
from = place.lapse
end
end
end
line.lapsesFrom = from
line.dirty = true
end
if line.granted < line.head then line.granted = line.head - 1 end
if line.count == 0 then return end
if line.used == 0 then line.lapsesFrom = NEVER end
for number = line.granted + 1, line.tail do
local place = getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
if line.count == 0 then return end
elseif line.used + place.weight <= line.capacity then
line.used = line.used + place.weight
line.granted = number
line.changed, line.dirty = true, true
if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
pushTo(line, place, place.id .. string.format(' %.0f', place.token))
else
return
end
else
line.granted = number
end
end
end
local function renumberLine(line)
if line.tail - line.head < 2 * line.count + 256 and line.tail < 2000000000 then return end
local fields = redis.call('HGETALL', line.queue)
local numbers, places = {}, {}
for i = 1, #fields, 2 do
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
local function tellLine(line, now)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', string.match(line.key, '^[^{]*') .. 'inbox:' .. inbox, message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, number, place, now)
local wanted = number < line.tail and line.count > 1 and 1 or 0
if number <= line.granted then return { place.token, line.used - place.weight, -1, wanted } end
local recheck = line.lapsesFrom
if line.capacity > 1 and number > line.granted + 1 then
local blocker = getPlace(line, line.granted + 1)
if blocker and blocker.lapse < recheck then recheck = blocker.lapse end
end
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
local function renewPlace(line, number, place, now)
place.lapse = now + 1 + place.ttl
if number <= line.granted then
if line.used == place.weight or place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
end
putPlace(line, number, place)
end
local function hasRoom(line, place)
return line.granted == line.tail and line.used + place.weight <= place.capacity
end
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
local ttl = tonumber(ARGV[1])
for _, n in ipairs(others) do
local key = KEYS[2 * n - 1]
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
answer = answerFor(line, addPlace(line, place, fits), place, now)
end
end
saveLine(line, now)
tellLine(line, now)
if isOne then return answer end
answers[n] = answer
end
return answers
`

export const ENTER_ALL: string = `local HEADER = '<c3I4dI4I4I4I4I4I4I4I6I6I6I6'
local HEADER_BYTES = 67
local GRAVES_PER_CALL = 16
local NEVER = 281474976710655
local function makePlace(token, lapse, sent)
local capacity, ttl, weight, broken, id, inbox = struct.unpack('c5c7c5c1c32c12', sent)
return {
token = token, lapse = lapse, sent = sent, id = id, inbox = inbox, broken = broken == '1',
capacity = tonumber(capacity, 16), ttl = tonumber(ttl, 16), weight = tonumber(weight, 16),
}
end
local function readPlace(raw, from)
local token, lapse = struct.unpack('<dI6', raw, from)
return makePlace(token, lapse, string.sub(raw, from + 14))
end
local function writePlace(place)
return struct.pack('<dI6', place.token, place.lapse) .. place.sent
end
local function breakPlace(place)
place.broken = true
place.sent = string.sub(place.sent, 1, 17) .. '1' .. string.sub(place.sent, 19)
end
local function loadLine(key, queue, retention, raw)
local line = {
key = key, queue = queue, retention = retention,
capacity = 0, token = 0, used = 0, count = 0, head = 0, granted = 0, tail = 0,
graveHead = 0, graveTail = 0, observed = 0, lapsesFrom = 0, queueKeep = 0, keep = 0, pushes = {},
latest = 0, dirty = false, changed = false,
}
if not raw then return line end
local form = string.sub(raw, 1, 3)
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
local function findPlace(line, id)
if line.count == 0 then return nil end
if line.front and line.front.id == id then return line.front, line.head end
if line.count == 1 then return nil end
local number = tonumber(redis.call('HGET', line.queue, id))
if not number or number <= line.head or number > line.tail then return nil end
local place = getPlace(line, number)
if place and place.id == id then return place, number end
end
local function removePlace(line, number, place)
line.changed, line.dirty = true, true
line.count = line.count - 1
if number <= line.granted then line.used = line.used - place.weight end
if number ~= line.head then
redis.call('HDEL', line.queue, number, place.id)
return
end
line.front = nil
if line.count > 0 then
for next = number + 1, line.tail do
local raw = redis.call('HGET', line.queue, next)
if raw then
line.front, line.head = readPlace(raw, 1), next
redis.call('HDEL', line.queue, next, line.front.id)
return
end
end
end
line.count, line.used, line.head, line.granted, line.tail, line.lapsesFrom = 0, 0, 0, 0, 0, 0
end
local function pushTo(line, place, message)
local pushes = line.pushes
pushes[place.inbox] = pushes[place.inbox] and pushes[place.inbox] .. ',' .. message or message
end
local function settleLine(line, now)
if line.count > 0 and now >= line.lapsesFrom then
local from = NEVER
for number = line.head, line.granted do
local place = line.count > 0 and getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
elseif place.lapse < from then
from = place.lapse
end
end
end
line.lapsesFrom = from
line.dirty = true
end
if line.granted < line.head then line.granted = line.head - 1 end
if line.count == 0 then return end
if line.used == 0 then line.lapsesFrom = NEVER end
for number = line.granted + 1, line.tail do
local place = getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
if line.count == 0 then return end
elseif line.used + place.weight <= line.capacity then
line.used = line.used + place.weight
line.granted = number
line.changed, line.dirty = true, true
if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
pushTo(line, place, place.id .. string.format(' %.0f', place.token))
else
return
end
else
line.granted = number
end
end
end
local function renumberLine(line)
if line.tail - line.head < 2 * line.count + 256 and line.tail < 2000000000 then return end
local fields = redis.call('HGETALL', line.queue)
local numbers, places = {}, {}
for i = 1, #fields, 2 do
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
local function tellLine(line, now)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', string.match(line.key, '^[^{]*') .. 'inbox:' .. inbox, message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, number, place, now)
local wanted = number < line.tail and line.count > 1 and 1 or 0
if number <= line.granted then return { place.token, line.used - place.weight, -1, wanted } end
local recheck = line.lapsesFrom
if line.capacity > 1 and number > line.granted + 1 then
local blocker = getPlace(line, line.granted + 1)
if blocker and blocker.lapse < recheck then recheck = blocker.lapse end
end
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
local function renewPlace(line, number, place, now)
place.lapse = now + 1 + place.ttl
if number <= line.granted then
if line.used == place.weight or place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
end
putPlace(line, number, place)
end
local function hasRoom(line, place)
return line.granted == line.tail and line.used + place.weight <= place.capacity
end
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
local time = redis.call('TIME')
local token = time[1] * 1000000 + time[2]
local now = math.floor(token / 1000)
local lines, places, present = {}, {}, {}
for i = 1, #KEYS, 2 do
local line = loadLine(KEYS[i], KEYS[i + 1], tonumber(ARGV[1]), redis.call('GET', KEYS[i]))
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[i]) end
lines[#lines + 1] = line
end
local answer
for n, line in ipairs(lines) do
local place = makePlace(token, 0, ARGV[n + 1])
place.lapse = now + 1 + place.ttl
places[n] = place
settleLine(line, now)
if line.count > 0 then renumberLine(line) end
local known, number = findPlace(line, place.id)
if known then
if known.broken or number > line.granted then answer = { 0 } end
places[n], present[n] = known, number
elseif line.count > 0 and line.capacity ~= place.capacity then
answer = { -1, n, line.capacity }
elseif isBuried(line, place.id, now) or not hasRoom(line, place) then
answer = { 0 }
end
if answer then break end
end
if not answer then
answer = { 1 }
for n, line in ipairs(lines) do
local number = present[n]
if number then renewPlace(line, number, places[n], now) else number = addPlace(line, places[n], true) end
answer[n + 1] = answerFor(line, number, places[n], now)
end
end
for _, line in ipairs(lines) do
saveLine(line, now)
tellLine(line, now)
end
return answer
`

export const LEAVE: string = `local isOne, answers, others, raw = not KEYS[3], {}, nil, nil
local keepsExpiry = tonumber(ARGV[2]) <= tonumber(ARGV[1])
local now
for i = 1, #KEYS, 2 do
raw = others and others[KEYS[i]] and 'later' or redis.call('GET', KEYS[i])
local n = (i + 1) / 2
if raw and string.sub(raw, 1, 3) == 'hf1' and string.sub(raw, 42, 73) == ARGV[n + 3] and ARGV[3] == '' then
local written
if keepsExpiry then
written = redis.pcall('SET', KEYS[i], 'hf0' .. string.sub(raw, 4, 17), 'KEEPTTL')
else
written = redis.pcall('SET', KEYS[i], 'hf0\\0\\0\\0\\0\\0\\0' .. string.sub(raw, 10, 17), 'PX', ARGV[1])
end
if written.err then redis.call('DEL', KEYS[i]) end
if isOne then return 1 end
answers[n] = 1
elseif raw and string.sub(raw, 1, 3) == 'hf2' and string.sub(raw, 100, 131) == ARGV[n + 3] and ARGV[3] == '' then
local _, capacity, token, used, count, head, granted, tail, graveHead, graveTail, observed, lapsesFrom, queueKeep, keep =
struct.unpack('<c3I4dI4I4I4I4I4I4I4I6I6I6I6', raw)
if not now then
local time = redis.call('TIME')
now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local number = head + 1
local next = granted == head and count > 2 and observed <= now and redis.call('HGET', KEYS[i + 1], number)
local itsToken, lapse = 0, 0
if next then itsToken, lapse = struct.unpack('<dI6', next) end
if lapse > now and string.sub(next, 15, 19) == string.sub(next, 27, 31) and lapse + ARGV[1] <= keep then
local id = string.sub(next, 33, 64)
redis.call('HDEL', KEYS[i + 1], number, id)
redis.call('SET', KEYS[i], struct.pack(
'<c3I4dI4I4I4I4I4I4I4I6I6I6I6', 'hf2', capacity, token, capacity, count - 1, number, number, tail, graveHead, graveTail,
observed, lapse, queueKeep, keep
) .. next, 'KEEPTTL')
redis.call(
'PUBLISH', string.match(KEYS[i], '^[^{]*') .. 'inbox:' .. string.sub(next, 65, 76),
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
local HEADER = '<c3I4dI4I4I4I4I4I4I4I6I6I6I6'
local HEADER_BYTES = 67
local GRAVES_PER_CALL = 16
local NEVER = 281474976710655
local function makePlace(token, lapse, sent)
local capacity, ttl, weight, broken, id, inbox = struct.unpack('c5c7c5c1c32c12', sent)
return {
token = token, lapse = lapse, sent = sent, id = id, inbox = inbox, broken = broken == '1',
capacity = tonumber(capacity, 16), ttl = tonumber(ttl, 16), weight = tonumber(weight, 16),
}
end
local function readPlace(raw, from)
local token, lapse = struct.unpack('<dI6', raw, from)
return makePlace(token, lapse, string.sub(raw, from + 14))
end
local function writePlace(place)
return struct.pack('<dI6', place.token, place.lapse) .. place.sent
end
local function breakPlace(place)
place.broken = true
place.sent = string.sub(place.sent, 1, 17) .. '1' .. string.sub(place.sent, 19)
end
local function loadLine(key, queue, retention, raw)
local line = {
key = key, queue = queue, retention = retention,
capacity = 0, token = 0, used = 0, count = 0, head = 0, granted = 0, tail = 0,
graveHead = 0, graveTail = 0, observed = 0, lapsesFrom = 0, queueKeep = 0, keep = 0, pushes = {},
latest = 0, dirty = false, changed = false,
}
if not raw then return line end
local form = string.sub(raw, 1, 3)
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
local function findPlace(line, id)
if line.count == 0 then return nil end
if line.front and line.front.id == id then return line.front, line.head end
if line.count == 1 then return nil end
local number = tonumber(redis.call('HGET', line.queue, id))
if not number or number <= line.head or number > line.tail then return nil end
local place = getPlace(line, number)
if place and place.id == id then return place, number end
end
local function removePlace(line, number, place)
line.changed, line.dirty = true, true
line.count = line.count - 1
if number <= line.granted then line.used = line.used - place.weight end
if number ~= line.head then
redis.call('HDEL', line.queue, number, place.id)
return
end
line.front = nil
if line.count > 0 then
for next = number + 1, line.tail do
local raw = redis.call('HGET', line.queue, next)
if raw then
line.front, line.head = readPlace(raw, 1), next
redis.call('HDEL', line.queue, next, line.front.id)
return
end
end
end
line.count, line.used, line.head, line.granted, line.tail, line.lapsesFrom = 0, 0, 0, 0, 0, 0
end
local function pushTo(line, place, message)
local pushes = line.pushes
pushes[place.inbox] = pushes[place.inbox] and pushes[place.inbox] .. ',' .. message or message
end
local function settleLine(line, now)
if line.count > 0 and now >= line.lapsesFrom then
local from = NEVER
for number = line.head, line.granted do
local place = line.count > 0 and getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
elseif place.lapse < from then
from = place.lapse
end
end
end
line.lapsesFrom = from
line.dirty = true
end
if line.granted < line.head then line.granted = line.head - 1 end
if line.count == 0 then return end
if line.used == 0 then line.lapsesFrom = NEVER end
for number = line.granted + 1, line.tail do
local place = getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
if line.count == 0 then return end
elseif line.used + place.weight <= line.capacity then
line.used = line.used + place.weight
line.granted = number
line.changed, line.dirty = true, true
if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
pushTo(line, place, place.id .. string.format(' %.0f', place.token))
else
return
end
else
line.granted = number
end
end
end
local function renumberLine(line)
if line.tail - line.head < 2 * line.count + 256 and line.tail < 2000000000 then return end
local fields = redis.call('HGETALL', line.queue)
local numbers, places = {}, {}
for i = 1, #fields, 2 do
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
local function tellLine(line, now)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', string.match(line.key, '^[^{]*') .. 'inbox:' .. inbox, message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, number, place, now)
local wanted = number < line.tail and line.count > 1 and 1 or 0
if number <= line.granted then return { place.token, line.used - place.weight, -1, wanted } end
local recheck = line.lapsesFrom
if line.capacity > 1 and number > line.granted + 1 then
local blocker = getPlace(line, line.granted + 1)
if blocker and blocker.lapse < recheck then recheck = blocker.lapse end
end
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
local function renewPlace(line, number, place, now)
place.lapse = now + 1 + place.ttl
if number <= line.granted then
if line.used == place.weight or place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
end
putPlace(line, number, place)
end
local function hasRoom(line, place)
return line.granted == line.tail and line.used + place.weight <= place.capacity
end
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
if not now then
local time = redis.call('TIME')
now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for _, n in ipairs(others) do
local key, id = KEYS[2 * n - 1], ARGV[n + 3]
if not isOne then raw = redis.call('GET', key) end
local line = loadLine(key, KEYS[2 * n], tonumber(ARGV[1]), raw)
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. key) end
local place, number = findPlace(line, id)
if not place then
buryId(line, id, now, tonumber(ARGV[2]))
elseif ARGV[3] == '' then
removePlace(line, number, place)
else
breakPlace(place)
place.lapse = math.min(place.lapse, now + tonumber(ARGV[3]))
if number <= line.granted and place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
putPlace(line, number, place)
end
settleLine(line, now)
saveLine(line, now)
tellLine(line, now)
answers[n] = place and 1 or 0
end
return isOne and answers[1] or answers
`

export const OBSERVE: string = `local HEADER = '<c3I4dI4I4I4I4I4I4I4I6I6I6I6'
local HEADER_BYTES = 67
local GRAVES_PER_CALL = 16
local NEVER = 281474976710655
local function makePlace(token, lapse, sent)
local capacity, ttl, weight, broken, id, inbox = struct.unpack('c5c7c5c1c32c12', sent)
return {
token = token, lapse = lapse, sent = sent, id = id, inbox = inbox, broken = broken == '1',
capacity = tonumber(capacity, 16), ttl = tonumber(ttl, 16), weight = tonumber(weight, 16),
}
end
local function readPlace(raw, from)
local token, lapse = struct.unpack('<dI6', raw, from)
return makePlace(token, lapse, string.sub(raw, from + 14))
end
local function writePlace(place)
return struct.pack('<dI6', place.token, place.lapse) .. place.sent
end
local function breakPlace(place)
place.broken = true
place.sent = string.sub(place.sent, 1, 17) .. '1' .. string.sub(place.sent, 19)
end
local function loadLine(key, queue, retention, raw)
local line = {
key = key, queue = queue, retention = retention,
capacity = 0, token = 0, used = 0, count = 0, head = 0, granted = 0, tail = 0,
graveHead = 0, graveTail = 0, observed = 0, lapsesFrom = 0, queueKeep = 0, keep = 0, pushes = {},
latest = 0, dirty = false, changed = false,
}
if not raw then return line end
local form = string.sub(raw, 1, 3)
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
local function findPlace(line, id)
if line.count == 0 then return nil end
if line.front and line.front.id == id then return line.front, line.head end
if line.count == 1 then return nil end
local number = tonumber(redis.call('HGET', line.queue, id))
if not number or number <= line.head or number > line.tail then return nil end
local place = getPlace(line, number)
if place and place.id == id then return place, number end
end
local function removePlace(line, number, place)
line.changed, line.dirty = true, true
line.count = line.count - 1
if number <= line.granted then line.used = line.used - place.weight end
if number ~= line.head then
redis.call('HDEL', line.queue, number, place.id)
return
end
line.front = nil
if line.count > 0 then
for next = number + 1, line.tail do
local raw = redis.call('HGET', line.queue, next)
if raw then
line.front, line.head = readPlace(raw, 1), next
redis.call('HDEL', line.queue, next, line.front.id)
return
end
end
end
line.count, line.used, line.head, line.granted, line.tail, line.lapsesFrom = 0, 0, 0, 0, 0, 0
end
local function pushTo(line, place, message)
local pushes = line.pushes
pushes[place.inbox] = pushes[place.inbox] and pushes[place.inbox] .. ',' .. message or message
end
local function settleLine(line, now)
if line.count > 0 and now >= line.lapsesFrom then
local from = NEVER
for number = line.head, line.granted do
local place = line.count > 0 and getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
elseif place.lapse < from then
from = place.lapse
end
end
end
line.lapsesFrom = from
line.dirty = true
end
if line.granted < line.head then line.granted = line.head - 1 end
if line.count == 0 then return end
if line.used == 0 then line.lapsesFrom = NEVER end
for number = line.granted + 1, line.tail do
local place = getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
if line.count == 0 then return end
elseif line.used + place.weight <= line.capacity then
line.used = line.used + place.weight
line.granted = number
line.changed, line.dirty = true, true
if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
pushTo(line, place, place.id .. string.format(' %.0f', place.token))
else
return
end
else
line.granted = number
end
end
end
local function renumberLine(line)
if line.tail - line.head < 2 * line.count + 256 and line.tail < 2000000000 then return end
local fields = redis.call('HGETALL', line.queue)
local numbers, places = {}, {}
for i = 1, #fields, 2 do
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
local function tellLine(line, now)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', string.match(line.key, '^[^{]*') .. 'inbox:' .. inbox, message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, number, place, now)
local wanted = number < line.tail and line.count > 1 and 1 or 0
if number <= line.granted then return { place.token, line.used - place.weight, -1, wanted } end
local recheck = line.lapsesFrom
if line.capacity > 1 and number > line.granted + 1 then
local blocker = getPlace(line, line.granted + 1)
if blocker and blocker.lapse < recheck then recheck = blocker.lapse end
end
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
local function renewPlace(line, number, place, now)
place.lapse = now + 1 + place.ttl
if number <= line.granted then
if line.used == place.weight or place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
end
putPlace(line, number, place)
end
local function hasRoom(line, place)
return line.granted == line.tail and line.used + place.weight <= place.capacity
end
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
local raw = redis.call('GET', KEYS[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local line = loadLine(KEYS[1], KEYS[2], tonumber(ARGV[2]), raw)
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1]) end
line.observed = math.max(line.observed, now + tonumber(ARGV[1]))
line.dirty = true
saveLine(line, now)
return 1
`

export const RENAME: string = `local HEADER = '<c3I4dI4I4I4I4I4I4I4I6I6I6I6'
local HEADER_BYTES = 67
local GRAVES_PER_CALL = 16
local NEVER = 281474976710655
local function makePlace(token, lapse, sent)
local capacity, ttl, weight, broken, id, inbox = struct.unpack('c5c7c5c1c32c12', sent)
return {
token = token, lapse = lapse, sent = sent, id = id, inbox = inbox, broken = broken == '1',
capacity = tonumber(capacity, 16), ttl = tonumber(ttl, 16), weight = tonumber(weight, 16),
}
end
local function readPlace(raw, from)
local token, lapse = struct.unpack('<dI6', raw, from)
return makePlace(token, lapse, string.sub(raw, from + 14))
end
local function writePlace(place)
return struct.pack('<dI6', place.token, place.lapse) .. place.sent
end
local function breakPlace(place)
place.broken = true
place.sent = string.sub(place.sent, 1, 17) .. '1' .. string.sub(place.sent, 19)
end
local function loadLine(key, queue, retention, raw)
local line = {
key = key, queue = queue, retention = retention,
capacity = 0, token = 0, used = 0, count = 0, head = 0, granted = 0, tail = 0,
graveHead = 0, graveTail = 0, observed = 0, lapsesFrom = 0, queueKeep = 0, keep = 0, pushes = {},
latest = 0, dirty = false, changed = false,
}
if not raw then return line end
local form = string.sub(raw, 1, 3)
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
local function findPlace(line, id)
if line.count == 0 then return nil end
if line.front and line.front.id == id then return line.front, line.head end
if line.count == 1 then return nil end
local number = tonumber(redis.call('HGET', line.queue, id))
if not number or number <= line.head or number > line.tail then return nil end
local place = getPlace(line, number)
if place and place.id == id then return place, number end
end
local function removePlace(line, number, place)
line.changed, line.dirty = true, true
line.count = line.count - 1
if number <= line.granted then line.used = line.used - place.weight end
if number ~= line.head then
redis.call('HDEL', line.queue, number, place.id)
return
end
line.front = nil
if line.count > 0 then
for next = number + 1, line.tail do
local raw = redis.call('HGET', line.queue, next)
if raw then
line.front, line.head = readPlace(raw, 1), next
redis.call('HDEL', line.queue, next, line.front.id)
return
end
end
end
line.count, line.used, line.head, line.granted, line.tail, line.lapsesFrom = 0, 0, 0, 0, 0, 0
end
local function pushTo(line, place, message)
local pushes = line.pushes
pushes[place.inbox] = pushes[place.inbox] and pushes[place.inbox] .. ',' .. message or message
end
local function settleLine(line, now)
if line.count > 0 and now >= line.lapsesFrom then
local from = NEVER
for number = line.head, line.granted do
local place = line.count > 0 and getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
elseif place.lapse < from then
from = place.lapse
end
end
end
line.lapsesFrom = from
line.dirty = true
end
if line.granted < line.head then line.granted = line.head - 1 end
if line.count == 0 then return end
if line.used == 0 then line.lapsesFrom = NEVER end
for number = line.granted + 1, line.tail do
local place = getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
if line.count == 0 then return end
elseif line.used + place.weight <= line.capacity then
line.used = line.used + place.weight
line.granted = number
line.changed, line.dirty = true, true
if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
pushTo(line, place, place.id .. string.format(' %.0f', place.token))
else
return
end
else
line.granted = number
end
end
end
local function renumberLine(line)
if line.tail - line.head < 2 * line.count + 256 and line.tail < 2000000000 then return end
local fields = redis.call('HGETALL', line.queue)
local numbers, places = {}, {}
for i = 1, #fields, 2 do
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
local function tellLine(line, now)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', string.match(line.key, '^[^{]*') .. 'inbox:' .. inbox, message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, number, place, now)
local wanted = number < line.tail and line.count > 1 and 1 or 0
if number <= line.granted then return { place.token, line.used - place.weight, -1, wanted } end
local recheck = line.lapsesFrom
if line.capacity > 1 and number > line.granted + 1 then
local blocker = getPlace(line, line.granted + 1)
if blocker and blocker.lapse < recheck then recheck = blocker.lapse end
end
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
local function renewPlace(line, number, place, now)
place.lapse = now + 1 + place.ttl
if number <= line.granted then
if line.used == place.weight or place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
end
putPlace(line, number, place)
end
local function hasRoom(line, place)
return line.granted == line.tail and line.used + place.weight <= place.capacity
end
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
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local line = loadLine(KEYS[1], KEYS[2], tonumber(ARGV[3]), redis.call('GET', KEYS[1]))
if not line then return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1]) end
settleLine(line, now)
local sent = ARGV[2]
local place, number = findPlace(line, ARGV[1])
local isFirst = place ~= nil
if not place then place, number = findPlace(line, string.sub(sent, 19, 50)) end
local answer = false
if place and place.lapse <= now then
removePlace(line, number, place)
settleLine(line, now)
elseif place and not place.broken then
sent = string.sub(place.sent, 1, 5) .. string.sub(sent, 6, 12) .. string.sub(place.sent, 13, 18) .. string.sub(sent, 19)
local heir = makePlace(place.token, 0, sent)
if isFirst then
if number ~= line.head then
redis.call('HSET', line.queue, heir.id, number)
redis.call('HDEL', line.queue, place.id)
end
buryId(line, place.id, now, place.ttl)
end
renewPlace(line, number, heir, now)
answer = answerFor(line, number, heir, now)
end
saveLine(line, now)
tellLine(line, now)
return answer
`

export const SET_NX_DELETE: string = `if not ARGV[1] or redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`

export const SET_NX_RENEW: string = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
`

export const SET_NX_TAKE: string = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
`

export const SWAP: string = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local raw = redis.call('GET', KEYS[1])
local version, lapse, full, nonce, value, last = 0, 0, 0, false, false, 0
if raw then
if string.sub(raw, 1, 3) ~= 'hfc' then
return redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[1])
end
local at
version, lapse, full, nonce, at = struct.unpack('<dI6BBc0', raw, 4)
last = version
if lapse ~= 0 and lapse <= now then
version, nonce = 0, false
elseif full == 1 then
value = string.sub(raw, at)
else
version = 0
end
end
if #ARGV == 0 or nonce == ARGV[5] or version ~= tonumber(ARGV[1]) then
return { version, nonce, value }
end
local fresh = math.max(last + 1, time[1] * 1000000 + time[2])
local ttl = tonumber(ARGV[2] == '1' and ARGV[4] or ARGV[6])
lapse = ttl == 0 and 0 or now + 1 + ttl
raw = struct.pack('<c3dI6BBc0', 'hfc', fresh, lapse, ARGV[2], #ARGV[5], ARGV[5]) .. ARGV[3]
if lapse == 0 then
redis.call('SET', KEYS[1], raw)
else
redis.call('SET', KEYS[1], raw, 'PXAT', lapse + ARGV[7])
end
if ARGV[2] == '1' then return { fresh, ARGV[5], ARGV[3] } end
return { 0, ARGV[5], false }
`

export const TAKE: string = `local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wish, brim, drain = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local counts, answers = ARGV[4], nil
if KEYS[2] then answers = {} end
for i = 1, #KEYS do
local raw = redis.pcall('GET', KEYS[i])
local level, keep, refused, shutUntil, wrong = 0, 0, 0, 0, nil
if raw then
local at = now
if #raw == 24 then level, at, keep = struct.unpack('<ddd', raw)
elseif #raw == 40 then level, at, keep, refused, shutUntil = struct.unpack('<ddddd', raw)
elseif raw.err then wrong = raw
else wrong = redis.error_reply('WRONGTYPE another program keeps a string under the key ' .. KEYS[i]) end
if now > at then level = level - (now - at) * drain end
if level < 0 then level = 0 end
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
answer, isChanged = -1 - level, false
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
`

export const TOUCH: string = `local HEADER = '<c3I4dI4I4I4I4I4I4I4I6I6I6I6'
local HEADER_BYTES = 67
local GRAVES_PER_CALL = 16
local NEVER = 281474976710655
local function makePlace(token, lapse, sent)
local capacity, ttl, weight, broken, id, inbox = struct.unpack('c5c7c5c1c32c12', sent)
return {
token = token, lapse = lapse, sent = sent, id = id, inbox = inbox, broken = broken == '1',
capacity = tonumber(capacity, 16), ttl = tonumber(ttl, 16), weight = tonumber(weight, 16),
}
end
local function readPlace(raw, from)
local token, lapse = struct.unpack('<dI6', raw, from)
return makePlace(token, lapse, string.sub(raw, from + 14))
end
local function writePlace(place)
return struct.pack('<dI6', place.token, place.lapse) .. place.sent
end
local function breakPlace(place)
place.broken = true
place.sent = string.sub(place.sent, 1, 17) .. '1' .. string.sub(place.sent, 19)
end
local function loadLine(key, queue, retention, raw)
local line = {
key = key, queue = queue, retention = retention,
capacity = 0, token = 0, used = 0, count = 0, head = 0, granted = 0, tail = 0,
graveHead = 0, graveTail = 0, observed = 0, lapsesFrom = 0, queueKeep = 0, keep = 0, pushes = {},
latest = 0, dirty = false, changed = false,
}
if not raw then return line end
local form = string.sub(raw, 1, 3)
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
local function findPlace(line, id)
if line.count == 0 then return nil end
if line.front and line.front.id == id then return line.front, line.head end
if line.count == 1 then return nil end
local number = tonumber(redis.call('HGET', line.queue, id))
if not number or number <= line.head or number > line.tail then return nil end
local place = getPlace(line, number)
if place and place.id == id then return place, number end
end
local function removePlace(line, number, place)
line.changed, line.dirty = true, true
line.count = line.count - 1
if number <= line.granted then line.used = line.used - place.weight end
if number ~= line.head then
redis.call('HDEL', line.queue, number, place.id)
return
end
line.front = nil
if line.count > 0 then
for next = number + 1, line.tail do
local raw = redis.call('HGET', line.queue, next)
if raw then
line.front, line.head = readPlace(raw, 1), next
redis.call('HDEL', line.queue, next, line.front.id)
return
end
end
end
line.count, line.used, line.head, line.granted, line.tail, line.lapsesFrom = 0, 0, 0, 0, 0, 0
end
local function pushTo(line, place, message)
local pushes = line.pushes
pushes[place.inbox] = pushes[place.inbox] and pushes[place.inbox] .. ',' .. message or message
end
local function settleLine(line, now)
if line.count > 0 and now >= line.lapsesFrom then
local from = NEVER
for number = line.head, line.granted do
local place = line.count > 0 and getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
elseif place.lapse < from then
from = place.lapse
end
end
end
line.lapsesFrom = from
line.dirty = true
end
if line.granted < line.head then line.granted = line.head - 1 end
if line.count == 0 then return end
if line.used == 0 then line.lapsesFrom = NEVER end
for number = line.granted + 1, line.tail do
local place = getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
if line.count == 0 then return end
elseif line.used + place.weight <= line.capacity then
line.used = line.used + place.weight
line.granted = number
line.changed, line.dirty = true, true
if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
pushTo(line, place, place.id .. string.format(' %.0f', place.token))
else
return
end
else
line.granted = number
end
end
end
local function renumberLine(line)
if line.tail - line.head < 2 * line.count + 256 and line.tail < 2000000000 then return end
local fields = redis.call('HGETALL', line.queue)
local numbers, places = {}, {}
for i = 1, #fields, 2 do
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
local function tellLine(line, now)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', string.match(line.key, '^[^{]*') .. 'inbox:' .. inbox, message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, number, place, now)
local wanted = number < line.tail and line.count > 1 and 1 or 0
if number <= line.granted then return { place.token, line.used - place.weight, -1, wanted } end
local recheck = line.lapsesFrom
if line.capacity > 1 and number > line.granted + 1 then
local blocker = getPlace(line, line.granted + 1)
if blocker and blocker.lapse < recheck then recheck = blocker.lapse end
end
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
local function renewPlace(line, number, place, now)
place.lapse = now + 1 + place.ttl
if number <= line.granted then
if line.used == place.weight or place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
end
putPlace(line, number, place)
end
local function hasRoom(line, place)
return line.granted == line.tail and line.used + place.weight <= place.capacity
end
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
if raw and count == 1 and string.sub(raw, 1, 3) == 'hf1' and string.sub(raw, 42, 73) == ARGV[from] then
local keep, token, lapse = struct.unpack('<I6dI6', raw, 4)
local written
if lapse > now and string.sub(raw, 41, 41) == '0' then
lapse = now + 1 + tonumber(string.sub(raw, 29, 35), 16)
if keep >= lapse + retention then
raw = string.sub(raw, 1, 17) .. struct.pack('<I6', lapse) .. string.sub(raw, 24)
written = redis.pcall('SET', KEYS[i], raw, 'KEEPTTL')
else
keep = lapse + 2 * retention
raw = struct.pack('<c3I6dI6', 'hf1', keep, token, lapse) .. string.sub(raw, 24)
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
`

export const VIEW: string = `local HEADER = '<c3I4dI4I4I4I4I4I4I4I6I6I6I6'
local HEADER_BYTES = 67
local GRAVES_PER_CALL = 16
local NEVER = 281474976710655
local function makePlace(token, lapse, sent)
local capacity, ttl, weight, broken, id, inbox = struct.unpack('c5c7c5c1c32c12', sent)
return {
token = token, lapse = lapse, sent = sent, id = id, inbox = inbox, broken = broken == '1',
capacity = tonumber(capacity, 16), ttl = tonumber(ttl, 16), weight = tonumber(weight, 16),
}
end
local function readPlace(raw, from)
local token, lapse = struct.unpack('<dI6', raw, from)
return makePlace(token, lapse, string.sub(raw, from + 14))
end
local function writePlace(place)
return struct.pack('<dI6', place.token, place.lapse) .. place.sent
end
local function breakPlace(place)
place.broken = true
place.sent = string.sub(place.sent, 1, 17) .. '1' .. string.sub(place.sent, 19)
end
local function loadLine(key, queue, retention, raw)
local line = {
key = key, queue = queue, retention = retention,
capacity = 0, token = 0, used = 0, count = 0, head = 0, granted = 0, tail = 0,
graveHead = 0, graveTail = 0, observed = 0, lapsesFrom = 0, queueKeep = 0, keep = 0, pushes = {},
latest = 0, dirty = false, changed = false,
}
if not raw then return line end
local form = string.sub(raw, 1, 3)
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
local function findPlace(line, id)
if line.count == 0 then return nil end
if line.front and line.front.id == id then return line.front, line.head end
if line.count == 1 then return nil end
local number = tonumber(redis.call('HGET', line.queue, id))
if not number or number <= line.head or number > line.tail then return nil end
local place = getPlace(line, number)
if place and place.id == id then return place, number end
end
local function removePlace(line, number, place)
line.changed, line.dirty = true, true
line.count = line.count - 1
if number <= line.granted then line.used = line.used - place.weight end
if number ~= line.head then
redis.call('HDEL', line.queue, number, place.id)
return
end
line.front = nil
if line.count > 0 then
for next = number + 1, line.tail do
local raw = redis.call('HGET', line.queue, next)
if raw then
line.front, line.head = readPlace(raw, 1), next
redis.call('HDEL', line.queue, next, line.front.id)
return
end
end
end
line.count, line.used, line.head, line.granted, line.tail, line.lapsesFrom = 0, 0, 0, 0, 0, 0
end
local function pushTo(line, place, message)
local pushes = line.pushes
pushes[place.inbox] = pushes[place.inbox] and pushes[place.inbox] .. ',' .. message or message
end
local function settleLine(line, now)
if line.count > 0 and now >= line.lapsesFrom then
local from = NEVER
for number = line.head, line.granted do
local place = line.count > 0 and getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
elseif place.lapse < from then
from = place.lapse
end
end
end
line.lapsesFrom = from
line.dirty = true
end
if line.granted < line.head then line.granted = line.head - 1 end
if line.count == 0 then return end
if line.used == 0 then line.lapsesFrom = NEVER end
for number = line.granted + 1, line.tail do
local place = getPlace(line, number)
if place then
if place.lapse <= now then
removePlace(line, number, place)
if line.count == 0 then return end
elseif line.used + place.weight <= line.capacity then
line.used = line.used + place.weight
line.granted = number
line.changed, line.dirty = true, true
if place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
pushTo(line, place, place.id .. string.format(' %.0f', place.token))
else
return
end
else
line.granted = number
end
end
end
local function renumberLine(line)
if line.tail - line.head < 2 * line.count + 256 and line.tail < 2000000000 then return end
local fields = redis.call('HGETALL', line.queue)
local numbers, places = {}, {}
for i = 1, #fields, 2 do
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
local function tellLine(line, now)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', string.match(line.key, '^[^{]*') .. 'inbox:' .. inbox, message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, number, place, now)
local wanted = number < line.tail and line.count > 1 and 1 or 0
if number <= line.granted then return { place.token, line.used - place.weight, -1, wanted } end
local recheck = line.lapsesFrom
if line.capacity > 1 and number > line.granted + 1 then
local blocker = getPlace(line, line.granted + 1)
if blocker and blocker.lapse < recheck then recheck = blocker.lapse end
end
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
local function renewPlace(line, number, place, now)
place.lapse = now + 1 + place.ttl
if number <= line.granted then
if line.used == place.weight or place.lapse < line.lapsesFrom then line.lapsesFrom = place.lapse end
end
putPlace(line, number, place)
end
local function hasRoom(line, place)
return line.granted == line.tail and line.used + place.weight <= place.capacity
end
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
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit = tonumber(ARGV[1])
local views = {}
for i = 1, #KEYS, 2 do
local raw = redis.call('GET', KEYS[i])
local line = raw and loadLine(KEYS[i], KEYS[i + 1], 0, raw)
local view = false
if line and line.count > 0 then
local places = {}
for number = line.head, line.tail do
local place = getPlace(line, number)
if place and place.lapse > now then
local age = math.max(0, now - math.floor(place.token / 1000))
places[#places + 1] = { place.token, place.weight, age, place.lapse - now, string.sub(place.sent, 63) }
if #places >= limit then break end
end
end
if #places > 0 then view = { line.capacity, places } end
end
views[#views + 1] = view
end
return views
`
