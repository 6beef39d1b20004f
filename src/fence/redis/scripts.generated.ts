/** Made by scripts/embed.js from the script files beside it. Do not edit. */

export const CALL: string = `return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
`

export const CHECK: string = `return 1
`

export const FENCE: string = `local function holdfast_fence(key, token, place)
local seen = redis.call('GET', key)
if seen then
local newest, holder = string.match(seen, '^(%d+) (%x+)$')
if not newest then
error('the key ' .. key .. ' is kept by another program')
end
if #token < #newest or (#token == #newest and token < newest) then
return newest
end
if token == newest then
if holder ~= place then
return newest
end
return nil
end
end
redis.call('SET', key, token .. ' ' .. place)
return nil
end
`

export const GUARDED: string = `local holdfast_newest = holdfast_fence(KEYS[#KEYS], ARGV[#ARGV - 1], ARGV[#ARGV])
if holdfast_newest then
return redis.error_reply('HFSTALE ' .. holdfast_newest)
end
KEYS[#KEYS] = nil
ARGV[#ARGV] = nil
ARGV[#ARGV] = nil
`
