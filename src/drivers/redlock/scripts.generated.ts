/** Made by scripts/embed.js from the script files beside it. Do not edit. */

export const ACCEPT: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left ~= 0 then return { micros, left } end
local raw = redis.call('GET', KEYS[2])
local promised = raw and cmsgpack.unpack(raw)[2] or 0
local ballot = tonumber(ARGV[3])
if ballot < promised then return { micros, 0, 0, promised } end
local lives = tonumber(ARGV[5])
local lapse = lives == 0 and 0 or now + 1 + lives
local cell = cmsgpack.pack({ 'hfc', ballot, ballot, tonumber(ARGV[4]), lapse, tonumber(ARGV[6]), ARGV[8], ARGV[7], ARGV[10] })
local grave = tonumber(ARGV[9])
if ARGV[6] == '0' then
redis.call('SET', KEYS[2], cell, 'PX', grave)
elseif lapse == 0 then
redis.call('SET', KEYS[2], cell)
else
redis.call('SET', KEYS[2], cell, 'PX', string.format('%.0f', lives + grave))
end
return { micros, 0, 1, ballot }
`

export const BREAK: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local ID, PRIORITY, WEIGHT, CAPACITY, TTL, LAPSE, VOTED, TOKEN, FIXED, ROUND, BROKEN, INBOX, DATA =
1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
local AHEAD = 60000000
local function loadLine(key)
local raw = redis.call('GET', key)
if not raw then return { key = key, last = 0, observed = 0, places = {}, graves = {}, pushes = {} } end
local kind = string.sub(raw, 1, 3)
if kind == 'hfe' then
return { key = key, last = tonumber(string.sub(raw, 4)), observed = 0, places = {}, graves = {}, pushes = {} }
elseif kind == 'hf1' then
local round, token, priority, weight, capacity, ttl, inbox, data =
string.match(raw, '^ (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$', 49)
token = tonumber(token)
local place = {
string.sub(raw, 17, 48), tonumber(priority), tonumber(weight), tonumber(capacity), tonumber(ttl),
tonumber(string.sub(raw, 4, 16)), 1, token, 0, tonumber(round), 0, inbox, data,
}
return { key = key, last = token, observed = 0, places = { place }, graves = {}, pushes = {} }
end
local fine, line = pcall(cmsgpack.unpack, raw)
if not fine or type(line) ~= 'table' or line[1] ~= 'hfl' then
error('WRONGTYPE another program keeps something under the key ' .. key)
end
return { key = key, last = line[2], observed = line[3], places = line[4], graves = line[5], pushes = {} }
end
local function saveLine(line, retention)
if not line.dirty then return end
if #line.places == 0 and #line.graves == 0 and line.observed <= now then
redis.call('SET', line.key, string.format('hfe%.0f', line.last), 'PX', retention)
return
end
local latest = math.max(now, line.observed)
for _, place in ipairs(line.places) do latest = math.max(latest, place[LAPSE]) end
for i = 2, #line.graves, 2 do latest = math.max(latest, line.graves[i]) end
local raw = cmsgpack.pack({ 'hfl', line.last, line.observed, line.places, line.graves })
redis.call('SET', line.key, raw, 'PX', string.format('%.0f', latest - now + retention))
end
local function findPlace(line, id)
for i, place in ipairs(line.places) do
if place[ID] == id then return place, i end
end
end
local function purgeLine(line)
local places = line.places
for i = #places, 1, -1 do
if places[i][LAPSE] <= now then
table.remove(places, i)
line.dirty, line.changed = true, true
end
end
while line.graves[2] and line.graves[2] <= now do
table.remove(line.graves, 1)
table.remove(line.graves, 1)
line.dirty = true
end
end
local function isBefore(one, other)
if one[PRIORITY] ~= other[PRIORITY] then return one[PRIORITY] < other[PRIORITY] end
return one[ID] < other[ID]
end
local function insertPlace(line, place)
local at = #line.places + 1
while at > 1 and isBefore(place, line.places[at - 1]) do at = at - 1 end
table.insert(line.places, at, place)
line.dirty, line.changed = true, true
end
local function pushTo(line, place, message)
local inbox = place[INBOX]
line.pushes[inbox] = (line.pushes[inbox] and line.pushes[inbox] .. ',' or '') .. message .. place[ID]
end
local function raiseToken(line, place, proposed, isFixed)
if isFixed then
place[FIXED] = 1
elseif proposed <= line.last or proposed > micros + AHEAD then
proposed = line.last + 1
end
place[TOKEN] = proposed
line.last = math.max(line.last, proposed)
line.dirty = true
end
local function settleLine(line, asker)
local used = 0
for _, place in ipairs(line.places) do
if place[VOTED] == 1 then used = used + place[WEIGHT] end
end
for _, place in ipairs(line.places) do
if place[VOTED] == 0 then
if used + place[WEIGHT] > place[CAPACITY] then return end
used = used + place[WEIGHT]
place[VOTED] = 1
raiseToken(line, place, place[TOKEN], place[FIXED] == 1)
line.dirty, line.changed = true, true
if place[ID] ~= asker then pushTo(line, place, 'v') end
end
end
end
local function buryId(line, id, ttl)
local lapse = now + 1 + ttl
for i = 1, #line.graves, 2 do
if line.graves[i] == id then
table.remove(line.graves, i)
table.remove(line.graves, i)
break
end
end
local at = #line.graves + 1
while at > 2 and line.graves[at - 1] > lapse do at = at - 2 end
table.insert(line.graves, at, lapse)
table.insert(line.graves, at, id)
line.dirty = true
end
local function isBuried(line, id)
for i = 1, #line.graves, 2 do
if line.graves[i] == id then return true end
end
return false
end
local function tellLine(line, marker)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', marker .. ':' .. inbox, string.format('%.0f,', micros) .. message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, place, answer)
local wanted, rival, earliest = 0, 0, -1
for _, other in ipairs(line.places) do
if other[ID] ~= place[ID] then
if other[VOTED] == 0 then
wanted = 1
if place[VOTED] == 1 and isBefore(other, place) then rival = 1 end
elseif earliest < 0 or other[LAPSE] - now < earliest then
earliest = other[LAPSE] - now
end
end
end
for _, item in ipairs({ place[VOTED], place[TOKEN], wanted, rival, earliest }) do answer[#answer + 1] = item end
end
local left = silence(KEYS[1], ARGV[1], ARGV[2])
local line = loadLine(KEYS[2])
local answer = { micros, left }
purgeLine(line)
for i = #line.places, 1, -1 do
local place = line.places[i]
if place[VOTED] == 1 then
answer[#answer + 1] = place[ID]
pushTo(line, place, 'b')
place[BROKEN] = 1
if ARGV[4] == '1' then table.remove(line.places, i) end
line.dirty, line.changed = true, true
end
end
if left == 0 then settleLine(line, '') end
saveLine(line, tonumber(ARGV[3]))
tellLine(line, KEYS[1])
return answer
`

export const ENTER: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local mark, known = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
if mark and string.sub(mark, 43) == ARGV[1] and #ARGV == 14 and #ARGV[4] == 32 and ARGV[10] == '0' then
local latest = tonumber(string.sub(mark, 17, 29))
local last = not known and 0 or string.sub(known, 1, 3) == 'hfe' and tonumber(string.sub(known, 4))
local token = tonumber(ARGV[9])
if
last and latest and now >= latest - STEP_BACK and now <= latest + TICK and string.sub(mark, 4, 16) + 0 <= now
and token > last and token <= micros + 60000000
then
local lives = 1 + ARGV[7]
redis.call(
'SET', KEYS[2],
string.format('hf1%013.0f', now + lives) .. ARGV[4] .. ' ' .. ARGV[11] .. ' ' .. ARGV[9] .. ' ' .. ARGV[8] .. ' ' .. ARGV[5] .. ' '
.. ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. ARGV[13] .. ' ' .. ARGV[14],
'PX', lives + ARGV[3]
)
return { micros, 0, 1, token, 0, 0, -1 }
end
end
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local ID, PRIORITY, WEIGHT, CAPACITY, TTL, LAPSE, VOTED, TOKEN, FIXED, ROUND, BROKEN, INBOX, DATA =
1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
local AHEAD = 60000000
local function loadLine(key)
local raw = redis.call('GET', key)
if not raw then return { key = key, last = 0, observed = 0, places = {}, graves = {}, pushes = {} } end
local kind = string.sub(raw, 1, 3)
if kind == 'hfe' then
return { key = key, last = tonumber(string.sub(raw, 4)), observed = 0, places = {}, graves = {}, pushes = {} }
elseif kind == 'hf1' then
local round, token, priority, weight, capacity, ttl, inbox, data =
string.match(raw, '^ (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$', 49)
token = tonumber(token)
local place = {
string.sub(raw, 17, 48), tonumber(priority), tonumber(weight), tonumber(capacity), tonumber(ttl),
tonumber(string.sub(raw, 4, 16)), 1, token, 0, tonumber(round), 0, inbox, data,
}
return { key = key, last = token, observed = 0, places = { place }, graves = {}, pushes = {} }
end
local fine, line = pcall(cmsgpack.unpack, raw)
if not fine or type(line) ~= 'table' or line[1] ~= 'hfl' then
error('WRONGTYPE another program keeps something under the key ' .. key)
end
return { key = key, last = line[2], observed = line[3], places = line[4], graves = line[5], pushes = {} }
end
local function saveLine(line, retention)
if not line.dirty then return end
if #line.places == 0 and #line.graves == 0 and line.observed <= now then
redis.call('SET', line.key, string.format('hfe%.0f', line.last), 'PX', retention)
return
end
local latest = math.max(now, line.observed)
for _, place in ipairs(line.places) do latest = math.max(latest, place[LAPSE]) end
for i = 2, #line.graves, 2 do latest = math.max(latest, line.graves[i]) end
local raw = cmsgpack.pack({ 'hfl', line.last, line.observed, line.places, line.graves })
redis.call('SET', line.key, raw, 'PX', string.format('%.0f', latest - now + retention))
end
local function findPlace(line, id)
for i, place in ipairs(line.places) do
if place[ID] == id then return place, i end
end
end
local function purgeLine(line)
local places = line.places
for i = #places, 1, -1 do
if places[i][LAPSE] <= now then
table.remove(places, i)
line.dirty, line.changed = true, true
end
end
while line.graves[2] and line.graves[2] <= now do
table.remove(line.graves, 1)
table.remove(line.graves, 1)
line.dirty = true
end
end
local function isBefore(one, other)
if one[PRIORITY] ~= other[PRIORITY] then return one[PRIORITY] < other[PRIORITY] end
return one[ID] < other[ID]
end
local function insertPlace(line, place)
local at = #line.places + 1
while at > 1 and isBefore(place, line.places[at - 1]) do at = at - 1 end
table.insert(line.places, at, place)
line.dirty, line.changed = true, true
end
local function pushTo(line, place, message)
local inbox = place[INBOX]
line.pushes[inbox] = (line.pushes[inbox] and line.pushes[inbox] .. ',' or '') .. message .. place[ID]
end
local function raiseToken(line, place, proposed, isFixed)
if isFixed then
place[FIXED] = 1
elseif proposed <= line.last or proposed > micros + AHEAD then
proposed = line.last + 1
end
place[TOKEN] = proposed
line.last = math.max(line.last, proposed)
line.dirty = true
end
local function settleLine(line, asker)
local used = 0
for _, place in ipairs(line.places) do
if place[VOTED] == 1 then used = used + place[WEIGHT] end
end
for _, place in ipairs(line.places) do
if place[VOTED] == 0 then
if used + place[WEIGHT] > place[CAPACITY] then return end
used = used + place[WEIGHT]
place[VOTED] = 1
raiseToken(line, place, place[TOKEN], place[FIXED] == 1)
line.dirty, line.changed = true, true
if place[ID] ~= asker then pushTo(line, place, 'v') end
end
end
end
local function buryId(line, id, ttl)
local lapse = now + 1 + ttl
for i = 1, #line.graves, 2 do
if line.graves[i] == id then
table.remove(line.graves, i)
table.remove(line.graves, i)
break
end
end
local at = #line.graves + 1
while at > 2 and line.graves[at - 1] > lapse do at = at - 2 end
table.insert(line.graves, at, lapse)
table.insert(line.graves, at, id)
line.dirty = true
end
local function isBuried(line, id)
for i = 1, #line.graves, 2 do
if line.graves[i] == id then return true end
end
return false
end
local function tellLine(line, marker)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', marker .. ':' .. inbox, string.format('%.0f,', micros) .. message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, place, answer)
local wanted, rival, earliest = 0, 0, -1
for _, other in ipairs(line.places) do
if other[ID] ~= place[ID] then
if other[VOTED] == 0 then
wanted = 1
if place[VOTED] == 1 and isBefore(other, place) then rival = 1 end
elseif earliest < 0 or other[LAPSE] - now < earliest then
earliest = other[LAPSE] - now
end
end
end
for _, item in ipairs({ place[VOTED], place[TOKEN], wanted, rival, earliest }) do answer[#answer + 1] = item end
end
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left ~= 0 then return { micros, left } end
local line = loadLine(KEYS[2])
local retention, id, ttl = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[7])
local capacity, round = tonumber(ARGV[6]), tonumber(ARGV[11])
purgeLine(line)
for i = 15, #ARGV do
local _, at = findPlace(line, ARGV[i])
if at then
table.remove(line.places, at)
line.dirty, line.changed = true, true
end
buryId(line, ARGV[i], ttl)
end
local answer = { micros, 0 }
local place = findPlace(line, id)
local oldest = line.places[1]
if isBuried(line, id) or (place and place[BROKEN] ~= 0) then
answer[3] = -1
elseif oldest and oldest[CAPACITY] ~= capacity then
answer[3], answer[4] = -2, oldest[CAPACITY]
else
local isNew = not place
if place then
place[LAPSE] = now + 1 + ttl
line.dirty = true
else
place = {
id, tonumber(ARGV[8]), tonumber(ARGV[5]), capacity, ttl, now + 1 + ttl, 0, tonumber(ARGV[9]), tonumber(ARGV[10]),
round, 0, ARGV[13], ARGV[14],
}
insertPlace(line, place)
end
if round > place[ROUND] then place[ROUND] = round end
settleLine(line, id)
if place[VOTED] == 0 and ARGV[12] == '0' then
local _, at = findPlace(line, id)
table.remove(line.places, at)
answer[3] = -3
else
if isNew and place[VOTED] == 0 then
for _, other in ipairs(line.places) do
if other[VOTED] == 1 and isBefore(place, other) then pushTo(line, other, 'y') end
end
end
answerFor(line, place, answer)
end
end
saveLine(line, retention)
tellLine(line, KEYS[1])
return answer
`

export const HELLO: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local run = thisRun()
local marker = readMarker(KEYS[1])
local wasThere, wasOurs = marker and 1 or 0, marker and marker[2] == run and 1 or 0
local longest = marker and marker[3] or tonumber(ARGV[2])
if wasOurs == 0 and ARGV[1] ~= 'look' then
local isFirst = ARGV[1] == 'init' and not marker
writeMarker(KEYS[1], run, longest, isFirst and 0 or now + longest)
wasOurs = 1
end
local left = wasOurs == 1 and silence(KEYS[1], run, longest) or -1
return { micros, left, run, marker and marker[3] or (ARGV[1] == 'look' and 0 or longest), wasThere, wasOurs }
`

export const LEAVE: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local mark, known = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
if
mark and known and string.sub(mark, 43) == ARGV[1] and string.sub(known, 1, 3) == 'hf1' and string.sub(known, 17, 48) == ARGV[4]
and ARGV[6] == '0' and ARGV[7] == '0'
then
local latest = tonumber(string.sub(mark, 17, 29))
local round, token = string.match(known, '^ (%d+) (%d+)', 49)
if
latest and now >= latest - STEP_BACK and now <= latest + TICK and string.sub(mark, 4, 16) + 0 <= now
and string.sub(known, 4, 16) + 0 > now and round + 0 <= ARGV[8] + 0
then
redis.call('SET', KEYS[2], 'hfe' .. token, 'PX', ARGV[3])
return { micros, 0, 1 }
end
end
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local ID, PRIORITY, WEIGHT, CAPACITY, TTL, LAPSE, VOTED, TOKEN, FIXED, ROUND, BROKEN, INBOX, DATA =
1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
local AHEAD = 60000000
local function loadLine(key)
local raw = redis.call('GET', key)
if not raw then return { key = key, last = 0, observed = 0, places = {}, graves = {}, pushes = {} } end
local kind = string.sub(raw, 1, 3)
if kind == 'hfe' then
return { key = key, last = tonumber(string.sub(raw, 4)), observed = 0, places = {}, graves = {}, pushes = {} }
elseif kind == 'hf1' then
local round, token, priority, weight, capacity, ttl, inbox, data =
string.match(raw, '^ (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$', 49)
token = tonumber(token)
local place = {
string.sub(raw, 17, 48), tonumber(priority), tonumber(weight), tonumber(capacity), tonumber(ttl),
tonumber(string.sub(raw, 4, 16)), 1, token, 0, tonumber(round), 0, inbox, data,
}
return { key = key, last = token, observed = 0, places = { place }, graves = {}, pushes = {} }
end
local fine, line = pcall(cmsgpack.unpack, raw)
if not fine or type(line) ~= 'table' or line[1] ~= 'hfl' then
error('WRONGTYPE another program keeps something under the key ' .. key)
end
return { key = key, last = line[2], observed = line[3], places = line[4], graves = line[5], pushes = {} }
end
local function saveLine(line, retention)
if not line.dirty then return end
if #line.places == 0 and #line.graves == 0 and line.observed <= now then
redis.call('SET', line.key, string.format('hfe%.0f', line.last), 'PX', retention)
return
end
local latest = math.max(now, line.observed)
for _, place in ipairs(line.places) do latest = math.max(latest, place[LAPSE]) end
for i = 2, #line.graves, 2 do latest = math.max(latest, line.graves[i]) end
local raw = cmsgpack.pack({ 'hfl', line.last, line.observed, line.places, line.graves })
redis.call('SET', line.key, raw, 'PX', string.format('%.0f', latest - now + retention))
end
local function findPlace(line, id)
for i, place in ipairs(line.places) do
if place[ID] == id then return place, i end
end
end
local function purgeLine(line)
local places = line.places
for i = #places, 1, -1 do
if places[i][LAPSE] <= now then
table.remove(places, i)
line.dirty, line.changed = true, true
end
end
while line.graves[2] and line.graves[2] <= now do
table.remove(line.graves, 1)
table.remove(line.graves, 1)
line.dirty = true
end
end
local function isBefore(one, other)
if one[PRIORITY] ~= other[PRIORITY] then return one[PRIORITY] < other[PRIORITY] end
return one[ID] < other[ID]
end
local function insertPlace(line, place)
local at = #line.places + 1
while at > 1 and isBefore(place, line.places[at - 1]) do at = at - 1 end
table.insert(line.places, at, place)
line.dirty, line.changed = true, true
end
local function pushTo(line, place, message)
local inbox = place[INBOX]
line.pushes[inbox] = (line.pushes[inbox] and line.pushes[inbox] .. ',' or '') .. message .. place[ID]
end
local function raiseToken(line, place, proposed, isFixed)
if isFixed then
place[FIXED] = 1
elseif proposed <= line.last or proposed > micros + AHEAD then
proposed = line.last + 1
end
place[TOKEN] = proposed
line.last = math.max(line.last, proposed)
line.dirty = true
end
local function settleLine(line, asker)
local used = 0
for _, place in ipairs(line.places) do
if place[VOTED] == 1 then used = used + place[WEIGHT] end
end
for _, place in ipairs(line.places) do
if place[VOTED] == 0 then
if used + place[WEIGHT] > place[CAPACITY] then return end
used = used + place[WEIGHT]
place[VOTED] = 1
raiseToken(line, place, place[TOKEN], place[FIXED] == 1)
line.dirty, line.changed = true, true
if place[ID] ~= asker then pushTo(line, place, 'v') end
end
end
end
local function buryId(line, id, ttl)
local lapse = now + 1 + ttl
for i = 1, #line.graves, 2 do
if line.graves[i] == id then
table.remove(line.graves, i)
table.remove(line.graves, i)
break
end
end
local at = #line.graves + 1
while at > 2 and line.graves[at - 1] > lapse do at = at - 2 end
table.insert(line.graves, at, lapse)
table.insert(line.graves, at, id)
line.dirty = true
end
local function isBuried(line, id)
for i = 1, #line.graves, 2 do
if line.graves[i] == id then return true end
end
return false
end
local function tellLine(line, marker)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', marker .. ':' .. inbox, string.format('%.0f,', micros) .. message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, place, answer)
local wanted, rival, earliest = 0, 0, -1
for _, other in ipairs(line.places) do
if other[ID] ~= place[ID] then
if other[VOTED] == 0 then
wanted = 1
if place[VOTED] == 1 and isBefore(other, place) then rival = 1 end
elseif earliest < 0 or other[LAPSE] - now < earliest then
earliest = other[LAPSE] - now
end
end
end
for _, item in ipairs({ place[VOTED], place[TOKEN], wanted, rival, earliest }) do answer[#answer + 1] = item end
end
local left = silence(KEYS[1], ARGV[1], ARGV[2])
local line = loadLine(KEYS[2])
local id, stays = ARGV[4], tonumber(ARGV[7])
purgeLine(line)
local place, at = findPlace(line, id)
if place and stays > 0 then
place[BROKEN], place[LAPSE] = 2, now + 1 + stays
line.dirty, line.changed = true, true
elseif not place or (place[BROKEN] ~= 2 and place[ROUND] <= tonumber(ARGV[8])) then
if place then
table.remove(line.places, at)
line.dirty, line.changed = true, true
end
if not place or ARGV[6] == '1' then buryId(line, id, tonumber(ARGV[5])) end
end
if left == 0 then settleLine(line, '') end
saveLine(line, tonumber(ARGV[3]))
tellLine(line, KEYS[1])
return { micros, left, place and 1 or 0 }
`

export const OBSERVE: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local ID, PRIORITY, WEIGHT, CAPACITY, TTL, LAPSE, VOTED, TOKEN, FIXED, ROUND, BROKEN, INBOX, DATA =
1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
local AHEAD = 60000000
local function loadLine(key)
local raw = redis.call('GET', key)
if not raw then return { key = key, last = 0, observed = 0, places = {}, graves = {}, pushes = {} } end
local kind = string.sub(raw, 1, 3)
if kind == 'hfe' then
return { key = key, last = tonumber(string.sub(raw, 4)), observed = 0, places = {}, graves = {}, pushes = {} }
elseif kind == 'hf1' then
local round, token, priority, weight, capacity, ttl, inbox, data =
string.match(raw, '^ (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$', 49)
token = tonumber(token)
local place = {
string.sub(raw, 17, 48), tonumber(priority), tonumber(weight), tonumber(capacity), tonumber(ttl),
tonumber(string.sub(raw, 4, 16)), 1, token, 0, tonumber(round), 0, inbox, data,
}
return { key = key, last = token, observed = 0, places = { place }, graves = {}, pushes = {} }
end
local fine, line = pcall(cmsgpack.unpack, raw)
if not fine or type(line) ~= 'table' or line[1] ~= 'hfl' then
error('WRONGTYPE another program keeps something under the key ' .. key)
end
return { key = key, last = line[2], observed = line[3], places = line[4], graves = line[5], pushes = {} }
end
local function saveLine(line, retention)
if not line.dirty then return end
if #line.places == 0 and #line.graves == 0 and line.observed <= now then
redis.call('SET', line.key, string.format('hfe%.0f', line.last), 'PX', retention)
return
end
local latest = math.max(now, line.observed)
for _, place in ipairs(line.places) do latest = math.max(latest, place[LAPSE]) end
for i = 2, #line.graves, 2 do latest = math.max(latest, line.graves[i]) end
local raw = cmsgpack.pack({ 'hfl', line.last, line.observed, line.places, line.graves })
redis.call('SET', line.key, raw, 'PX', string.format('%.0f', latest - now + retention))
end
local function findPlace(line, id)
for i, place in ipairs(line.places) do
if place[ID] == id then return place, i end
end
end
local function purgeLine(line)
local places = line.places
for i = #places, 1, -1 do
if places[i][LAPSE] <= now then
table.remove(places, i)
line.dirty, line.changed = true, true
end
end
while line.graves[2] and line.graves[2] <= now do
table.remove(line.graves, 1)
table.remove(line.graves, 1)
line.dirty = true
end
end
local function isBefore(one, other)
if one[PRIORITY] ~= other[PRIORITY] then return one[PRIORITY] < other[PRIORITY] end
return one[ID] < other[ID]
end
local function insertPlace(line, place)
local at = #line.places + 1
while at > 1 and isBefore(place, line.places[at - 1]) do at = at - 1 end
table.insert(line.places, at, place)
line.dirty, line.changed = true, true
end
local function pushTo(line, place, message)
local inbox = place[INBOX]
line.pushes[inbox] = (line.pushes[inbox] and line.pushes[inbox] .. ',' or '') .. message .. place[ID]
end
local function raiseToken(line, place, proposed, isFixed)
if isFixed then
place[FIXED] = 1
elseif proposed <= line.last or proposed > micros + AHEAD then
proposed = line.last + 1
end
place[TOKEN] = proposed
line.last = math.max(line.last, proposed)
line.dirty = true
end
local function settleLine(line, asker)
local used = 0
for _, place in ipairs(line.places) do
if place[VOTED] == 1 then used = used + place[WEIGHT] end
end
for _, place in ipairs(line.places) do
if place[VOTED] == 0 then
if used + place[WEIGHT] > place[CAPACITY] then return end
used = used + place[WEIGHT]
place[VOTED] = 1
raiseToken(line, place, place[TOKEN], place[FIXED] == 1)
line.dirty, line.changed = true, true
if place[ID] ~= asker then pushTo(line, place, 'v') end
end
end
end
local function buryId(line, id, ttl)
local lapse = now + 1 + ttl
for i = 1, #line.graves, 2 do
if line.graves[i] == id then
table.remove(line.graves, i)
table.remove(line.graves, i)
break
end
end
local at = #line.graves + 1
while at > 2 and line.graves[at - 1] > lapse do at = at - 2 end
table.insert(line.graves, at, lapse)
table.insert(line.graves, at, id)
line.dirty = true
end
local function isBuried(line, id)
for i = 1, #line.graves, 2 do
if line.graves[i] == id then return true end
end
return false
end
local function tellLine(line, marker)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', marker .. ':' .. inbox, string.format('%.0f,', micros) .. message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, place, answer)
local wanted, rival, earliest = 0, 0, -1
for _, other in ipairs(line.places) do
if other[ID] ~= place[ID] then
if other[VOTED] == 0 then
wanted = 1
if place[VOTED] == 1 and isBefore(other, place) then rival = 1 end
elseif earliest < 0 or other[LAPSE] - now < earliest then
earliest = other[LAPSE] - now
end
end
end
for _, item in ipairs({ place[VOTED], place[TOKEN], wanted, rival, earliest }) do answer[#answer + 1] = item end
end
local line = loadLine(KEYS[2])
line.observed = math.max(line.observed, now + tonumber(ARGV[1]))
line.dirty = true
saveLine(line, tonumber(ARGV[2]))
return { micros }
`

export const PREPARE: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left ~= 0 then return { micros, left } end
local raw = redis.call('GET', KEYS[2])
local cell = { 'hfc', 0, 0, 0, 0, 0, '', '', '' }
if raw then
local fine, known = pcall(cmsgpack.unpack, raw)
if not fine or type(known) ~= 'table' or known[1] ~= 'hfc' then
return redis.error_reply('WRONGTYPE another program keeps something under the key ' .. KEYS[2])
end
cell = known
end
local ballot = tonumber(ARGV[3])
local isPromised = ballot > cell[2] and 1 or 0
if isPromised == 1 then
cell[2] = ballot
if raw then
redis.call('SET', KEYS[2], cmsgpack.pack(cell), 'KEEPTTL')
else
redis.call('SET', KEYS[2], cmsgpack.pack(cell), 'PX', ARGV[4])
end
end
local stays = cell[5] == 0 and 0 or cell[5] > now and cell[5] - now or -1
return { micros, 0, isPromised, cell[2], cell[3], cell[4], stays, cell[6], cell[7], cell[8], cell[9] }
`

export const QUARANTINE: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left < 0 then return { micros, left } end
local marker = readMarker(KEYS[1])
writeMarker(KEYS[1], marker[2], marker[3], now + marker[3])
return { micros, marker[3] }
`

export const TOUCH: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local ID, PRIORITY, WEIGHT, CAPACITY, TTL, LAPSE, VOTED, TOKEN, FIXED, ROUND, BROKEN, INBOX, DATA =
1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
local AHEAD = 60000000
local function loadLine(key)
local raw = redis.call('GET', key)
if not raw then return { key = key, last = 0, observed = 0, places = {}, graves = {}, pushes = {} } end
local kind = string.sub(raw, 1, 3)
if kind == 'hfe' then
return { key = key, last = tonumber(string.sub(raw, 4)), observed = 0, places = {}, graves = {}, pushes = {} }
elseif kind == 'hf1' then
local round, token, priority, weight, capacity, ttl, inbox, data =
string.match(raw, '^ (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$', 49)
token = tonumber(token)
local place = {
string.sub(raw, 17, 48), tonumber(priority), tonumber(weight), tonumber(capacity), tonumber(ttl),
tonumber(string.sub(raw, 4, 16)), 1, token, 0, tonumber(round), 0, inbox, data,
}
return { key = key, last = token, observed = 0, places = { place }, graves = {}, pushes = {} }
end
local fine, line = pcall(cmsgpack.unpack, raw)
if not fine or type(line) ~= 'table' or line[1] ~= 'hfl' then
error('WRONGTYPE another program keeps something under the key ' .. key)
end
return { key = key, last = line[2], observed = line[3], places = line[4], graves = line[5], pushes = {} }
end
local function saveLine(line, retention)
if not line.dirty then return end
if #line.places == 0 and #line.graves == 0 and line.observed <= now then
redis.call('SET', line.key, string.format('hfe%.0f', line.last), 'PX', retention)
return
end
local latest = math.max(now, line.observed)
for _, place in ipairs(line.places) do latest = math.max(latest, place[LAPSE]) end
for i = 2, #line.graves, 2 do latest = math.max(latest, line.graves[i]) end
local raw = cmsgpack.pack({ 'hfl', line.last, line.observed, line.places, line.graves })
redis.call('SET', line.key, raw, 'PX', string.format('%.0f', latest - now + retention))
end
local function findPlace(line, id)
for i, place in ipairs(line.places) do
if place[ID] == id then return place, i end
end
end
local function purgeLine(line)
local places = line.places
for i = #places, 1, -1 do
if places[i][LAPSE] <= now then
table.remove(places, i)
line.dirty, line.changed = true, true
end
end
while line.graves[2] and line.graves[2] <= now do
table.remove(line.graves, 1)
table.remove(line.graves, 1)
line.dirty = true
end
end
local function isBefore(one, other)
if one[PRIORITY] ~= other[PRIORITY] then return one[PRIORITY] < other[PRIORITY] end
return one[ID] < other[ID]
end
local function insertPlace(line, place)
local at = #line.places + 1
while at > 1 and isBefore(place, line.places[at - 1]) do at = at - 1 end
table.insert(line.places, at, place)
line.dirty, line.changed = true, true
end
local function pushTo(line, place, message)
local inbox = place[INBOX]
line.pushes[inbox] = (line.pushes[inbox] and line.pushes[inbox] .. ',' or '') .. message .. place[ID]
end
local function raiseToken(line, place, proposed, isFixed)
if isFixed then
place[FIXED] = 1
elseif proposed <= line.last or proposed > micros + AHEAD then
proposed = line.last + 1
end
place[TOKEN] = proposed
line.last = math.max(line.last, proposed)
line.dirty = true
end
local function settleLine(line, asker)
local used = 0
for _, place in ipairs(line.places) do
if place[VOTED] == 1 then used = used + place[WEIGHT] end
end
for _, place in ipairs(line.places) do
if place[VOTED] == 0 then
if used + place[WEIGHT] > place[CAPACITY] then return end
used = used + place[WEIGHT]
place[VOTED] = 1
raiseToken(line, place, place[TOKEN], place[FIXED] == 1)
line.dirty, line.changed = true, true
if place[ID] ~= asker then pushTo(line, place, 'v') end
end
end
end
local function buryId(line, id, ttl)
local lapse = now + 1 + ttl
for i = 1, #line.graves, 2 do
if line.graves[i] == id then
table.remove(line.graves, i)
table.remove(line.graves, i)
break
end
end
local at = #line.graves + 1
while at > 2 and line.graves[at - 1] > lapse do at = at - 2 end
table.insert(line.graves, at, lapse)
table.insert(line.graves, at, id)
line.dirty = true
end
local function isBuried(line, id)
for i = 1, #line.graves, 2 do
if line.graves[i] == id then return true end
end
return false
end
local function tellLine(line, marker)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', marker .. ':' .. inbox, string.format('%.0f,', micros) .. message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, place, answer)
local wanted, rival, earliest = 0, 0, -1
for _, other in ipairs(line.places) do
if other[ID] ~= place[ID] then
if other[VOTED] == 0 then
wanted = 1
if place[VOTED] == 1 and isBefore(other, place) then rival = 1 end
elseif earliest < 0 or other[LAPSE] - now < earliest then
earliest = other[LAPSE] - now
end
end
end
for _, item in ipairs({ place[VOTED], place[TOKEN], wanted, rival, earliest }) do answer[#answer + 1] = item end
end
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left ~= 0 then return { micros, left } end
local answer = { micros, 0 }
local at = 4
for i = 2, #KEYS do
local line = loadLine(KEYS[i])
purgeLine(line)
settleLine(line, '')
local places = {}
for n = 1, tonumber(ARGV[at]) do
local from = at + 4 * n - 3
local place = findPlace(line, ARGV[from])
if place and place[BROKEN] == 0 then
local proposed, isFixed, round = tonumber(ARGV[from + 1]), ARGV[from + 2] == '1', tonumber(ARGV[from + 3])
place[LAPSE] = now + 1 + place[TTL]
line.dirty = true
if round >= place[ROUND] then
place[ROUND] = round
if place[VOTED] == 0 then
place[TOKEN], place[FIXED] = proposed, isFixed and 1 or 0
elseif isFixed then
raiseToken(line, place, proposed, true)
elseif place[FIXED] == 0 and proposed > line.last then
raiseToken(line, place, proposed, false)
end
end
places[n] = place
else
places[n] = false
end
end
for _, place in ipairs(places) do
if place then
answerFor(line, place, answer)
else
for _, item in ipairs({ -1, 0, 0, 0, -1 }) do answer[#answer + 1] = item end
end
end
at = at + 1 + 4 * tonumber(ARGV[at])
saveLine(line, tonumber(ARGV[3]))
tellLine(line, KEYS[1])
end
return answer
`

export const VIEW: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local ID, PRIORITY, WEIGHT, CAPACITY, TTL, LAPSE, VOTED, TOKEN, FIXED, ROUND, BROKEN, INBOX, DATA =
1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
local AHEAD = 60000000
local function loadLine(key)
local raw = redis.call('GET', key)
if not raw then return { key = key, last = 0, observed = 0, places = {}, graves = {}, pushes = {} } end
local kind = string.sub(raw, 1, 3)
if kind == 'hfe' then
return { key = key, last = tonumber(string.sub(raw, 4)), observed = 0, places = {}, graves = {}, pushes = {} }
elseif kind == 'hf1' then
local round, token, priority, weight, capacity, ttl, inbox, data =
string.match(raw, '^ (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$', 49)
token = tonumber(token)
local place = {
string.sub(raw, 17, 48), tonumber(priority), tonumber(weight), tonumber(capacity), tonumber(ttl),
tonumber(string.sub(raw, 4, 16)), 1, token, 0, tonumber(round), 0, inbox, data,
}
return { key = key, last = token, observed = 0, places = { place }, graves = {}, pushes = {} }
end
local fine, line = pcall(cmsgpack.unpack, raw)
if not fine or type(line) ~= 'table' or line[1] ~= 'hfl' then
error('WRONGTYPE another program keeps something under the key ' .. key)
end
return { key = key, last = line[2], observed = line[3], places = line[4], graves = line[5], pushes = {} }
end
local function saveLine(line, retention)
if not line.dirty then return end
if #line.places == 0 and #line.graves == 0 and line.observed <= now then
redis.call('SET', line.key, string.format('hfe%.0f', line.last), 'PX', retention)
return
end
local latest = math.max(now, line.observed)
for _, place in ipairs(line.places) do latest = math.max(latest, place[LAPSE]) end
for i = 2, #line.graves, 2 do latest = math.max(latest, line.graves[i]) end
local raw = cmsgpack.pack({ 'hfl', line.last, line.observed, line.places, line.graves })
redis.call('SET', line.key, raw, 'PX', string.format('%.0f', latest - now + retention))
end
local function findPlace(line, id)
for i, place in ipairs(line.places) do
if place[ID] == id then return place, i end
end
end
local function purgeLine(line)
local places = line.places
for i = #places, 1, -1 do
if places[i][LAPSE] <= now then
table.remove(places, i)
line.dirty, line.changed = true, true
end
end
while line.graves[2] and line.graves[2] <= now do
table.remove(line.graves, 1)
table.remove(line.graves, 1)
line.dirty = true
end
end
local function isBefore(one, other)
if one[PRIORITY] ~= other[PRIORITY] then return one[PRIORITY] < other[PRIORITY] end
return one[ID] < other[ID]
end
local function insertPlace(line, place)
local at = #line.places + 1
while at > 1 and isBefore(place, line.places[at - 1]) do at = at - 1 end
table.insert(line.places, at, place)
line.dirty, line.changed = true, true
end
local function pushTo(line, place, message)
local inbox = place[INBOX]
line.pushes[inbox] = (line.pushes[inbox] and line.pushes[inbox] .. ',' or '') .. message .. place[ID]
end
local function raiseToken(line, place, proposed, isFixed)
if isFixed then
place[FIXED] = 1
elseif proposed <= line.last or proposed > micros + AHEAD then
proposed = line.last + 1
end
place[TOKEN] = proposed
line.last = math.max(line.last, proposed)
line.dirty = true
end
local function settleLine(line, asker)
local used = 0
for _, place in ipairs(line.places) do
if place[VOTED] == 1 then used = used + place[WEIGHT] end
end
for _, place in ipairs(line.places) do
if place[VOTED] == 0 then
if used + place[WEIGHT] > place[CAPACITY] then return end
used = used + place[WEIGHT]
place[VOTED] = 1
raiseToken(line, place, place[TOKEN], place[FIXED] == 1)
line.dirty, line.changed = true, true
if place[ID] ~= asker then pushTo(line, place, 'v') end
end
end
end
local function buryId(line, id, ttl)
local lapse = now + 1 + ttl
for i = 1, #line.graves, 2 do
if line.graves[i] == id then
table.remove(line.graves, i)
table.remove(line.graves, i)
break
end
end
local at = #line.graves + 1
while at > 2 and line.graves[at - 1] > lapse do at = at - 2 end
table.insert(line.graves, at, lapse)
table.insert(line.graves, at, id)
line.dirty = true
end
local function isBuried(line, id)
for i = 1, #line.graves, 2 do
if line.graves[i] == id then return true end
end
return false
end
local function tellLine(line, marker)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', marker .. ':' .. inbox, string.format('%.0f,', micros) .. message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, place, answer)
local wanted, rival, earliest = 0, 0, -1
for _, other in ipairs(line.places) do
if other[ID] ~= place[ID] then
if other[VOTED] == 0 then
wanted = 1
if place[VOTED] == 1 and isBefore(other, place) then rival = 1 end
elseif earliest < 0 or other[LAPSE] - now < earliest then
earliest = other[LAPSE] - now
end
end
end
for _, item in ipairs({ place[VOTED], place[TOKEN], wanted, rival, earliest }) do answer[#answer + 1] = item end
end
local answer = { micros }
for i = 2, #KEYS do
local line = loadLine(KEYS[i])
local shown = {}
for _, place in ipairs(line.places) do
if place[LAPSE] > now and #shown < tonumber(ARGV[1]) then
shown[#shown + 1] = {
place[ID], place[PRIORITY], place[WEIGHT], place[CAPACITY], place[LAPSE] - now, place[VOTED], place[TOKEN], place[DATA],
}
end
end
answer[#answer + 1] = shown
end
return answer
`

export const YIELD: string = `local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local TICK = 100
local STEP_BACK = 250
local function readMarker(key)
local raw = redis.call('GET', key)
if not raw then return nil end
local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest) then return nil end
return { 'hfm', string.sub(raw, 43), longest, silentUntil, latest }
end
local function writeMarker(key, run, longest, silentUntil)
redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run))
end
local function thisRun()
return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end
local function silence(key, run, longest)
local marker = readMarker(key)
if not marker or marker[2] ~= run then
if run ~= '' then return -1 end
run = thisRun()
if not marker or marker[2] ~= run then
longest = marker and marker[3] or tonumber(longest)
writeMarker(key, run, longest, now + longest)
return longest
end
end
if now < marker[5] - STEP_BACK then
writeMarker(key, run, marker[3], now + marker[3])
return marker[3]
end
if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
return math.max(0, marker[4] - now)
end
local ID, PRIORITY, WEIGHT, CAPACITY, TTL, LAPSE, VOTED, TOKEN, FIXED, ROUND, BROKEN, INBOX, DATA =
1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
local AHEAD = 60000000
local function loadLine(key)
local raw = redis.call('GET', key)
if not raw then return { key = key, last = 0, observed = 0, places = {}, graves = {}, pushes = {} } end
local kind = string.sub(raw, 1, 3)
if kind == 'hfe' then
return { key = key, last = tonumber(string.sub(raw, 4)), observed = 0, places = {}, graves = {}, pushes = {} }
elseif kind == 'hf1' then
local round, token, priority, weight, capacity, ttl, inbox, data =
string.match(raw, '^ (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$', 49)
token = tonumber(token)
local place = {
string.sub(raw, 17, 48), tonumber(priority), tonumber(weight), tonumber(capacity), tonumber(ttl),
tonumber(string.sub(raw, 4, 16)), 1, token, 0, tonumber(round), 0, inbox, data,
}
return { key = key, last = token, observed = 0, places = { place }, graves = {}, pushes = {} }
end
local fine, line = pcall(cmsgpack.unpack, raw)
if not fine or type(line) ~= 'table' or line[1] ~= 'hfl' then
error('WRONGTYPE another program keeps something under the key ' .. key)
end
return { key = key, last = line[2], observed = line[3], places = line[4], graves = line[5], pushes = {} }
end
local function saveLine(line, retention)
if not line.dirty then return end
if #line.places == 0 and #line.graves == 0 and line.observed <= now then
redis.call('SET', line.key, string.format('hfe%.0f', line.last), 'PX', retention)
return
end
local latest = math.max(now, line.observed)
for _, place in ipairs(line.places) do latest = math.max(latest, place[LAPSE]) end
for i = 2, #line.graves, 2 do latest = math.max(latest, line.graves[i]) end
local raw = cmsgpack.pack({ 'hfl', line.last, line.observed, line.places, line.graves })
redis.call('SET', line.key, raw, 'PX', string.format('%.0f', latest - now + retention))
end
local function findPlace(line, id)
for i, place in ipairs(line.places) do
if place[ID] == id then return place, i end
end
end
local function purgeLine(line)
local places = line.places
for i = #places, 1, -1 do
if places[i][LAPSE] <= now then
table.remove(places, i)
line.dirty, line.changed = true, true
end
end
while line.graves[2] and line.graves[2] <= now do
table.remove(line.graves, 1)
table.remove(line.graves, 1)
line.dirty = true
end
end
local function isBefore(one, other)
if one[PRIORITY] ~= other[PRIORITY] then return one[PRIORITY] < other[PRIORITY] end
return one[ID] < other[ID]
end
local function insertPlace(line, place)
local at = #line.places + 1
while at > 1 and isBefore(place, line.places[at - 1]) do at = at - 1 end
table.insert(line.places, at, place)
line.dirty, line.changed = true, true
end
local function pushTo(line, place, message)
local inbox = place[INBOX]
line.pushes[inbox] = (line.pushes[inbox] and line.pushes[inbox] .. ',' or '') .. message .. place[ID]
end
local function raiseToken(line, place, proposed, isFixed)
if isFixed then
place[FIXED] = 1
elseif proposed <= line.last or proposed > micros + AHEAD then
proposed = line.last + 1
end
place[TOKEN] = proposed
line.last = math.max(line.last, proposed)
line.dirty = true
end
local function settleLine(line, asker)
local used = 0
for _, place in ipairs(line.places) do
if place[VOTED] == 1 then used = used + place[WEIGHT] end
end
for _, place in ipairs(line.places) do
if place[VOTED] == 0 then
if used + place[WEIGHT] > place[CAPACITY] then return end
used = used + place[WEIGHT]
place[VOTED] = 1
raiseToken(line, place, place[TOKEN], place[FIXED] == 1)
line.dirty, line.changed = true, true
if place[ID] ~= asker then pushTo(line, place, 'v') end
end
end
end
local function buryId(line, id, ttl)
local lapse = now + 1 + ttl
for i = 1, #line.graves, 2 do
if line.graves[i] == id then
table.remove(line.graves, i)
table.remove(line.graves, i)
break
end
end
local at = #line.graves + 1
while at > 2 and line.graves[at - 1] > lapse do at = at - 2 end
table.insert(line.graves, at, lapse)
table.insert(line.graves, at, id)
line.dirty = true
end
local function isBuried(line, id)
for i = 1, #line.graves, 2 do
if line.graves[i] == id then return true end
end
return false
end
local function tellLine(line, marker)
for inbox, message in pairs(line.pushes) do
redis.call('PUBLISH', marker .. ':' .. inbox, string.format('%.0f,', micros) .. message)
end
if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end
local function answerFor(line, place, answer)
local wanted, rival, earliest = 0, 0, -1
for _, other in ipairs(line.places) do
if other[ID] ~= place[ID] then
if other[VOTED] == 0 then
wanted = 1
if place[VOTED] == 1 and isBefore(other, place) then rival = 1 end
elseif earliest < 0 or other[LAPSE] - now < earliest then
earliest = other[LAPSE] - now
end
end
end
for _, item in ipairs({ place[VOTED], place[TOKEN], wanted, rival, earliest }) do answer[#answer + 1] = item end
end
local left = silence(KEYS[1], ARGV[1], ARGV[2])
if left ~= 0 then return { micros, left, 0 } end
local line = loadLine(KEYS[2])
purgeLine(line)
local place = findPlace(line, ARGV[4])
local yields = place and place[VOTED] == 1 and place[ROUND] == tonumber(ARGV[5])
if yields then
place[VOTED] = 0
line.dirty, line.changed = true, true
end
settleLine(line, '')
saveLine(line, tonumber(ARGV[3]))
tellLine(line, KEYS[1])
return { micros, 0, yields and 1 or 0 }
`
