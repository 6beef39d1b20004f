-- Whether a token may act on what a key stands for: the newest may, and is remembered under the key.
-- holdfast_fence(key, token, place) gives nil when it may, else the newest token as a decimal string.
-- A number in Lua is a double, which rounds above 2^53: tokens stay strings, compared by length, then digit by digit.
local function holdfast_fence(key, token, place)
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
