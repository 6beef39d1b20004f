-- Whether this server may vote. Included by every script that gives, keeps or takes a vote; it runs nothing itself.
--
-- The marker (one key for each server, without expiry) says which run of the server wrote it. It is a text of fixed columns, cheap to
-- look at: 'hfm', and in 13 digits each: no votes until (ms), latest time seen (ms), longest ttl of the deployment; then the
-- run id. A server that restarted has another run id, whatever is left
-- of its data; one that was emptied has no marker. It may have forgotten votes that are still counted on, so it gives none
-- until all of them have lapsed: one longest ttl.

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
