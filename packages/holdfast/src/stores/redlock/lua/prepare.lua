-- First half of a change to a cell: promises to take nothing older than this ballot, and shows what was taken last.
-- KEYS  the marker, the cell: { 'hfc', promised, ballot, version, lapse ms (0: never), 1 if it has a value, nonce, value, history }
-- ARGV  seal, part (see guard.lua), ballot, ms that a promise about nothing is remembered
-- Gives { time µs, silence ms, 1 if promised, promised, ballot, version, ms left (0: for ever, -1: lapsed), 1 or 0, nonce,
--       value, history }
--@include clock.lua
--@include guard.lua
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
