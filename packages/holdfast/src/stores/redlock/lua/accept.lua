-- Second half of a change to a cell: takes it, unless a newer ballot has been promised.
-- KEYS  the marker, the cell
-- ARGV  seal, part (see guard.lua), ballot, version, ms that it lives (0: for ever), 1 and the value or 0 and '', nonce, grave ms, history
-- Gives { time µs, silence ms, 1 if taken, promised }
--@include clock.lua
--@include guard.lua
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
