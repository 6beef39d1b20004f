-- What time it is on this server. Included by other scripts, first; it runs nothing else.

local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

-- The marker's latest time is written at most so often (ms); a clock that goes back by more than the other is noticed.
local TICK = 100
local STEP_BACK = 250
