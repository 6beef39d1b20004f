-- Whether this server may vote. Included by every script that gives, keeps or takes a vote; it runs nothing itself.
--
-- The marker (one key for each server, without expiry) says which run of the server wrote it, and what the server is: which server of which
-- deployment, and since which change of it. It is a text of fixed columns, cheap to look at: 'hfm', and in 13 digits each: no votes until (ms),
-- latest time seen (ms), longest ttl of the deployment; then the seal: the run id, and the part '.deployment.epoch.server'.
-- A server that restarted has another run id, whatever is left of its data; one that was emptied has no marker. It may have forgotten votes
-- that are still counted on, so it gives none until all of them have lapsed: one longest ttl.
-- The epoch rises with every change of the deployment's servers. Each request names the one that it counts by, and a server of another epoch
-- does nothing: so no two majorities are ever counted by rules of which a server knows only one. (A client that counts two of three, beside
-- one that counts three of five, need not have a server in common.)
-- Beside it, under the marker's key and ':servers', stands since when (13 digits, ms) and the deployment as text, which no script reads.

local function readMarker(key)
  local raw = redis.call('GET', key)
  if not raw then return nil end
  local silentUntil, latest, longest = tonumber(string.sub(raw, 4, 16)), tonumber(string.sub(raw, 17, 29)), tonumber(string.sub(raw, 30, 42))
  local run, part = string.match(raw, '^(%w+)(%..*)$', 43)
  if string.sub(raw, 1, 3) ~= 'hfm' or not (silentUntil and latest and longest and run) then return nil end
  return { run = run, part = part, longest = longest, silentUntil = silentUntil, latest = latest }
end

local function writeMarker(key, run, part, longest, silentUntil)
  redis.call('SET', key, string.format('hfm%013.0f%013.0f%013.0f%s', silentUntil, now, longest, run .. part))
end

local function thisRun()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
end

-- Whether this server may throw keys away when its memory is full. Lines expire and the marker does not: `volatile-*` takes just the votes.
local function evicts()
  local policy = string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:(%S+)')
  return policy ~= nil and policy ~= 'noeviction'
end

-- How long this server gives no votes, in ms; 0: it may. -1: the caller must say hello again. -2: none, while it may evict them.
-- `seal` is what the caller was told on this very connection; '' if it can't know the run: then the server is asked, which costs more, and
-- `part` is the rest of the seal.
local function silence(key, seal, part)
  local marker = readMarker(key)
  if not marker then return -1 end
  if seal ~= '' then
    if marker.run .. marker.part ~= seal then return -1 end
  else
    if marker.part ~= part then return -1 end
    local run = thisRun()
    if marker.run ~= run then
      writeMarker(key, run, part, marker.longest, now + marker.longest)
      return marker.longest
    end
  end
  if now < marker.latest - STEP_BACK then
    -- The clock went back: leases given before last longer now, and those given from now on could end early when it is put right.
    writeMarker(key, marker.run, marker.part, marker.longest, now + marker.longest)
    return marker.longest
  end
  if now > marker.latest + TICK then
    if evicts() then
      -- What it has evicted nobody can tell: as after a restart, votes are given again one longest ttl after it has stopped.
      writeMarker(key, marker.run, marker.part, marker.longest, now + marker.longest)
      return -2
    end
    writeMarker(key, marker.run, marker.part, marker.longest, marker.silentUntil)
  end
  return math.max(0, marker.silentUntil - now)
end
