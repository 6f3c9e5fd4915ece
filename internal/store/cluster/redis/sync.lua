-- One sync request of a process: what it has admitted of some budgets, and the units it asks for. Each window of a budget is
-- a hash:
--   b    when it was created, in milliseconds
--   s    what all reporters have admitted; o:R what reporter R has, n:R the number of the request that said so
--   d    what the database has as used, at least
--   l    1 if others had reported before, and Redis has lost that
--   k    the highest sum a reporter knew of: it counts while others report again what was lost
-- KEYS: the hashes. ARGV: number, settling (ms); then of each budget reporter, own, known, stored, limit, expiry (ms), minute;
-- then of each want cost, how many budgets, and which.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local number, settling = tonumber(ARGV[1]), tonumber(ARGV[2])
local at = 3
local list = {}

for i = 1, #KEYS do
  local mine, turn = 'o:' .. ARGV[at], 'n:' .. ARGV[at]
  local v = redis.call('HMGET', KEYS[i], 'b', 's', 'd', 'k', 'l', mine, turn)
  if number <= tonumber(v[7] or 0) then
    return {tonumber(time[1]), tonumber(time[2]), -1}
  end
  local own, known = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local w = {
    mine = mine, turn = turn, new = not v[1], reported = v[6], own = own, known = tonumber(v[4] or 0),
    born = tonumber(v[1] or now), sum = tonumber(v[2] or 0) + own - tonumber(v[6] or 0), lost = tonumber(v[5] or 0),
    stored = math.max(tonumber(v[3] or 0), tonumber(ARGV[at + 3])), limit = tonumber(ARGV[at + 4]), expiry = ARGV[at + 5],
  }
  w.young = now - w.born < settling
  if w.young then
    w.known = math.max(w.known, known)
    if w.sum == own and known > own then
      w.lost = 1
    end
  elseif w.lost == 1 and ARGV[at + 6] == '1' then
    w.sum, w.lost = math.max(w.sum, w.known), 0
  end
  at = at + 7
  list[i] = w
end

local function total(w)
  local t = math.max(w.sum, w.stored)
  if w.young and w.lost == 1 then
    t = math.max(t, w.known)
  end
  return t
end

local grants = {}
while at <= #ARGV do
  local cost, of, granted = tonumber(ARGV[at]), {}, 1
  for j = 1, tonumber(ARGV[at + 1]) do
    of[j] = list[tonumber(ARGV[at + 1 + j])]
    if total(of[j]) + cost > of[j].limit then
      granted = 0
    end
  end
  for _, w in ipairs(of) do
    w.own, w.sum, w.known = w.own + granted * cost, w.sum + granted * cost, w.known + granted * cost
  end
  grants[#grants + 1] = granted
  at = at + 2 + #of
end

local reply = {tonumber(time[1]), tonumber(time[2]), #KEYS}
for i, w in ipairs(list) do
  redis.call('HSET', KEYS[i], 'b', w.born, 's', w.sum, 'd', w.stored, 'k', w.known, 'l', w.lost)
  if w.own ~= 0 or w.reported then
    redis.call('HSET', KEYS[i], w.mine, w.own, w.turn, number)
  end
  if w.new then
    redis.call('PEXPIREAT', KEYS[i], w.expiry)
  end
  reply[#reply + 1] = total(w)
  reply[#reply + 1] = w.own
  reply[#reply + 1] = w.new and 1 or 0
end
for _, granted in ipairs(grants) do
  reply[#reply + 1] = granted
end
return reply
