-- Whether this server may vote. Included by every script that gives, keeps or takes a vote; it runs nothing itself.
--
-- The marker (one key for each server, without expiry) says which run of the server wrote it: { 'hfm', run id, longest ttl of
-- the deployment, no votes until (ms), latest time seen (ms) }. A server that restarted has another run id, whatever is left
-- of its data; one that was emptied has no marker. It may have forgotten votes that are still counted on, so it gives none
-- until all of them have lapsed: one longest ttl.

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

-- The latest time is written at most so often (ms); a clock that goes back by more than the other is noticed.
local TICK = 100
local STEP_BACK = 250

local function readMarker(key)
  local raw = redis.call('GET', key)
  if not raw then return nil end
  local fine, marker = pcall(cmsgpack.unpack, raw)
  if fine and type(marker) == 'table' and marker[1] == 'hfm' then return marker end
end

local function writeMarker(key, run, longest, silentUntil)
  redis.call('SET', key, cmsgpack.pack({ 'hfm', run, longest, silentUntil, now }))
end

local function thisRun()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end

-- How long this server gives no votes, in ms; 0: it may. -1: the caller must say hello again.
-- `run` is what the caller was told on this very connection; '' if it can't know: then the server is asked, which costs more.
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
    -- The clock went back: leases given before last longer now, and those given from now on could end early when it is put right.
    writeMarker(key, run, marker[3], now + marker[3])
    return marker[3]
  end
  if now > marker[5] + TICK then writeMarker(key, run, marker[3], marker[4]) end
  return math.max(0, marker[4] - now)
end
