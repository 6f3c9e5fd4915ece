-- The time, and the name of what Redis holds: it is gone when everything is.
local time = redis.call('TIME')
local name = redis.call('GET', KEYS[1])
if not name then
  name = ARGV[1]
  redis.call('SET', KEYS[1], name)
end
return {time[1], time[2], name}
