/**
 * Everything that time does, a bounded number of each: expiry, retention, retries that are due,
 * and tickets and deliveries that BullMQ does not have.
 *
 * `now, keepMs, keepCount, limit, auditMs, for how long nobody else sweeps or 0`; answers with tickets to remove, tickets to add,
 * deliveries to add, and whether there is more to do.
 */
export const SWEEP = `
beginEvenIfFull()
-- One process of all is enough.
if ARGV[6] ~= '0' and not call('SET', P .. 'sweeping', '1', 'NX', 'PX', ARGV[6]) then
  return false
end
local now, keepMs, keepCount = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local limit, auditMs = tonumber(ARGV[4]), tonumber(ARGV[5])
local gone, missing, undelivered, more = {}, {}, {}, 0
local function due(key, max)
  local ids = call('ZRANGEBYSCORE', key, '-inf', max, 'LIMIT', 0, limit)
  if #ids == limit then more = 1 end
  return ids
end

for _, id in ipairs(due(OPEN, now)) do
  local job = load(id)
  if not job then call('ZREM', OPEN, id) else
    if job.state == 'queued' then
      gone[#gone + 1] = { job.queue, id .. '~' .. job.ticket }
    end
    finish(id, job, 'expired', now, keepMs)
    if job.webhookUrl then undelivered[#undelivered + 1] = id .. '~' .. job.ticket end
  end
end

for _, id in ipairs(due(LATER, now)) do
  local job = load(id)
  call('ZREM', LATER, id)
  if job and job.state == 'queued' then
    newOrder(id, job)
    queueUp(id, job)
  end
end

for _, id in ipairs(due(AUDIT, now)) do
  local job = load(id)
  if not job or isFinal(job) then call('ZREM', AUDIT, id)
  elseif call('EXISTS', ticketKey(id, job)) == 1 then call('ZADD', AUDIT, now + auditMs, id)
  else
    -- A crash between writing the record and telling BullMQ, or BullMQ gave it up by itself.
    set(id, job, 'ticket', string.format('%.0f', tonumber(job.ticket) + 1))
    if job.state == 'running' then
      set(id, job, 'losses', string.format('%.0f', tonumber(job.losses) + 1))
      unset(id, job, 'token', 'startedAt')
      setState(id, job, 'queued')
      queueUp(id, job)
      touch(id, job)
    end
    call('ZADD', AUDIT, now + GRACE_MS, id)
    missing[#missing + 1] = { job.queue, id .. '~' .. job.ticket, job.priority, job.notBefore or '0' }
  end
end

for _, id in ipairs(due(OUTBOX, now)) do
  local job = load(id)
  if not job then call('ZREM', OUTBOX, id)
  elseif call('EXISTS', deliveryKey(id, job)) == 1 then call('ZADD', OUTBOX, now + auditMs, id)
  else
    undelivered[#undelivered + 1] = id .. '~' .. job.ticket
    call('ZADD', OUTBOX, now + GRACE_MS, id)
  end
end

local function remove(ids)
  for _, id in ipairs(ids) do
    local job = load(id)
    if job then forget(id, job) else call('ZREM', FINISHED, id) end
  end
end
remove(due(FINISHED, now - keepMs))
local surplus = call('ZCARD', FINISHED) - keepCount
if surplus > 0 then remove(call('ZRANGE', FINISHED, 0, math.min(surplus, limit) - 1)) end
if surplus > limit then more = 1 end
return { gone, missing, undelivered, more }
`;
