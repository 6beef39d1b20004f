-- The places of one line on one server, and the server's votes for them. Included by other scripts; it runs nothing itself.
--
-- A line is one string: { 'hfl', last token, observed until (ms), places, graves, disowned }. A place is a list, see the names below. Two kinds of
-- line that nobody observes are so common that they have a text of their own, which enter and leave read without unpacking: an
-- empty one, 'hfe' and the last token; and a place alone with its vote, unbroken: 'hf1', lapse in 13 digits, id in 32, and
-- behind blanks round, token, priority, weight, capacity, ttl, inbox, data. There the last token is that of the place.
-- Places stand in the order of their priorities, which their owners chose when they came, the same on every server. A place
-- that fits behind the votes given gets a vote, in that order; nobody is overtaken. A vote once given is taken back by its
-- owner or by time, never by the server: the owner may be counting on it.
-- Broken is 1 for a place that is not renewed any more, 2 for one that was left and stays for a while.
-- Graves are ids that left, maybe before they came: { id, until (ms), … }.
-- Disowned are requests to enter of which the owner will not hear any more: { inbox, round, until (ms), … }, one for each inbox, meaning
-- those of that round and all before. A server stood still while thousands came and went: as many graves would have to be read at every step.
-- All times are milliseconds of this server's clock; tokens and priorities are microseconds.

local ID, PRIORITY, WEIGHT, CAPACITY, TTL, LAPSE, VOTED, TOKEN, FIXED, ROUND, BROKEN, INBOX, DATA =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
-- A proposed token further in the future than this is not taken over (µs).
local AHEAD = 60000000

local function loadLine(key)
  local raw = redis.call('GET', key)
  if not raw then return { key = key, last = 0, observed = 0, places = {}, graves = {}, disowned = {}, pushes = {} } end
  local kind = string.sub(raw, 1, 3)
  if kind == 'hfe' then
    return { key = key, last = tonumber(string.sub(raw, 4)), observed = 0, places = {}, graves = {}, disowned = {}, pushes = {} }
  elseif kind == 'hf1' then
    local round, token, priority, weight, capacity, ttl, inbox, data =
      string.match(raw, '^ (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$', 49)
    token = tonumber(token)
    local place = {
      string.sub(raw, 17, 48), tonumber(priority), tonumber(weight), tonumber(capacity), tonumber(ttl),
      tonumber(string.sub(raw, 4, 16)), 1, token, 0, tonumber(round), 0, inbox, data,
    }
    return { key = key, last = token, observed = 0, places = { place }, graves = {}, disowned = {}, pushes = {} }
  end
  local fine, line = pcall(cmsgpack.unpack, raw)
  if not fine or type(line) ~= 'table' or line[1] ~= 'hfl' then
    error('WRONGTYPE another program keeps something under the key ' .. key)
  end
  return { key = key, last = line[2], observed = line[3], places = line[4], graves = line[5], disowned = line[6] or {}, pushes = {} }
end

-- Its expiry covers the latest place, the latest grave, what was disowned, and the memory of its token.
local function saveLine(line, retention)
  if not line.dirty then return end
  if #line.places == 0 and #line.graves == 0 and #line.disowned == 0 and line.observed <= now then
    redis.call('SET', line.key, string.format('hfe%.0f', line.last), 'PX', retention)
    return
  end
  local latest = math.max(now, line.observed)
  for _, place in ipairs(line.places) do latest = math.max(latest, place[LAPSE]) end
  for i = 2, #line.graves, 2 do latest = math.max(latest, line.graves[i]) end
  for i = 3, #line.disowned, 3 do latest = math.max(latest, line.disowned[i]) end
  local raw = cmsgpack.pack({ 'hfl', line.last, line.observed, line.places, line.graves, line.disowned })
  redis.call('SET', line.key, raw, 'PX', string.format('%.0f', latest - now + retention))
end

local function findPlace(line, id)
  for i, place in ipairs(line.places) do
    if place[ID] == id then return place, i end
  end
end

local function forgetDisowned(line, at)
  for _ = 1, 3 do table.remove(line.disowned, at) end
  line.dirty = true
end

-- Takes out what has lapsed.
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
  for i = #line.disowned, 3, -3 do
    if line.disowned[i] <= now then forgetDisowned(line, i - 2) end
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

-- The token is the proposed one where that is larger than all before, else the next; what the owner has settled stays.
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

-- Gives votes to those who fit, in order, and tells them, except `asker`, who gets an answer anyway.
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

-- Requests of that round, or older, come too late for so long.
local function disown(line, inbox, round, ttl)
  local lapse = now + 1 + ttl
  for i = 1, #line.disowned, 3 do
    if line.disowned[i] == inbox then
      round, lapse = math.max(round, line.disowned[i + 1]), math.max(lapse, line.disowned[i + 2])
      forgetDisowned(line, i)
      break
    end
  end
  for _, item in ipairs({ inbox, round, lapse }) do line.disowned[#line.disowned + 1] = item end
  line.dirty = true
end

local function isDisowned(line, inbox, round)
  for i = 1, #line.disowned, 3 do
    if line.disowned[i] == inbox then return round <= line.disowned[i + 1] end
  end
  return false
end

-- Tells each process in one message, and whoever observes the line. The message begins with the time: an answer given before
-- it may be read after it, and must not undo it.
local function tellLine(line, marker)
  for inbox, message in pairs(line.pushes) do
    redis.call('PUBLISH', marker .. ':' .. inbox, string.format('%.0f,', micros) .. message)
  end
  if line.changed and line.observed > now then redis.call('PUBLISH', line.key .. ':o', '') end
end

-- Adds to the answer: 1 with a vote or 0 without, token, whether somebody waits, whether somebody who came earlier waits for
-- this vote, ms until the earliest vote of others lapses or -1.
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
