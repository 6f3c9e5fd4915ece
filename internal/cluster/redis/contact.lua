-- One contact of a member: what it has admitted of some budgets, and what it wants of them. Each budget's window is a hash:
--   b  when it was made, in milliseconds        s  what all members have admitted, o: and n: of each the number and
--   d  what is stored as used, at least            the contact it came with
--   l  others had said something that is lost
--   k  what somebody knew of: where something was lost it counts while members say it again
-- KEYS: the hashes. ARGV: member, contact, settling (ms), then of each budget own, unsure, known, durable, limit, expiry (ms),
-- minute; then of each want cost, callers, how many budgets, and which.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local mine, turn = 'o:' .. ARGV[1], 'n:' .. ARGV[1]
local number, settling = tonumber(ARGV[2]), tonumber(ARGV[3])
local at = 4
local list = {}

for i = 1, #KEYS do
  local v = redis.call('HMGET', KEYS[i], 'b', 's', 'd', 'k', 'l', mine, turn)
  if number <= tonumber(v[7] or 0) then
    return {tonumber(time[1]), tonumber(time[2]), -1}
  end
  local w = {
    new = not v[1], born = tonumber(v[1] or now), sum = tonumber(v[2] or 0), durable = tonumber(v[3] or 0),
    known = tonumber(v[4] or 0), lost = tonumber(v[5] or 0), own = tonumber(v[6] or 0),
    limit = tonumber(ARGV[at + 4]), expiry = ARGV[at + 5],
  }
  local own, known = tonumber(ARGV[at]), tonumber(ARGV[at + 2])
  if ARGV[at + 1] == '0' then
    w.sum = w.sum + own - w.own
    w.own = own
  end
  w.durable = math.max(w.durable, tonumber(ARGV[at + 3]))
  w.young = now - w.born < settling
  if w.young then
    w.known = math.max(w.known, known)
    if w.sum == w.own and known > own then
      w.lost = 1
    end
  elseif w.lost == 1 and ARGV[at + 6] == '1' then
    w.sum, w.lost = math.max(w.sum, w.known), 0
  end
  at = at + 7
  list[i] = w
end

local function total(w)
  local t = math.max(w.sum, w.durable)
  if w.young and w.lost == 1 then
    t = math.max(t, w.known)
  end
  return t
end

local grants = {}
while at <= #ARGV do
  local cost, granted, of = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), {}
  for j = 1, tonumber(ARGV[at + 2]) do
    local w = list[tonumber(ARGV[at + 2 + j])]
    of[j] = w
    granted = math.min(granted, math.floor(math.max(0, w.limit - total(w)) / cost))
  end
  for _, w in ipairs(of) do
    w.own, w.sum, w.known = w.own + granted * cost, w.sum + granted * cost, w.known + granted * cost
  end
  grants[#grants + 1] = granted
  at = at + 3 + #of
end

local reply = {tonumber(time[1]), tonumber(time[2]), #KEYS}
for i, w in ipairs(list) do
  redis.call('HSET', KEYS[i], 'b', w.born, 's', w.sum, 'd', w.durable, 'k', w.known, 'l', w.lost, mine, w.own, turn, number)
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
