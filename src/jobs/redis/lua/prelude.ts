/**
 * What all scripts share. `KEYS[1]` is the prefix; the other keys are derived from records, which
 * Redis Cluster would not allow. A record is a hash of strings; `load` reads it into a table.
 */
export const PRELUDE = `
local P = KEYS[1] .. ':'
local OPEN, FINISHED, AUDIT = P .. 'open', P .. 'finished', P .. 'audit'
local OUTBOX, LATER, COUNTS = P .. 'outbox', P .. 'later', P .. 'counts'
local call = redis.call

local function load(id)
  local flat = call('HGETALL', P .. 'job:' .. id)
  if #flat == 0 then return nil end
  local job = {}
  for n = 1, #flat, 2 do job[flat[n]] = flat[n + 1] end
  return job
end

local function flatten(id) return call('HGETALL', P .. 'job:' .. id) end

local function set(id, job, field, value)
  job[field] = value
  call('HSET', P .. 'job:' .. id, field, value)
end

local function unset(id, job, ...)
  for _, field in ipairs({...}) do job[field] = nil end
  call('HDEL', P .. 'job:' .. id, ...)
end

local function isFinal(job) return job.state ~= 'queued' and job.state ~= 'running' end

local function owned(job, state) return P .. 'owner:' .. job.ownerKey .. ':' .. state end

local function setState(id, job, state)
  if job.state then
    call('HINCRBY', COUNTS, job.state, -1)
    call('ZREM', owned(job, job.state), id)
  end
  call('HINCRBY', COUNTS, state, 1)
  call('ZADD', owned(job, state), job.createdAt, id)
  set(id, job, 'state', state)
end

-- Every change is counted, and told to whoever listens.
local function touch(id, job)
  job.version = call('HINCRBY', P .. 'job:' .. id, 'version', 1)
  call('PUBLISH', P .. 'changes', id)
end

local function setBytes(id, job, bytes)
  call('HINCRBY', COUNTS, 'bytes', string.format('%.0f', bytes - tonumber(job.bytes or 0)))
  set(id, job, 'bytes', string.format('%.0f', bytes))
end

local function imageKeys(id, count)
  local keys = {}
  for n = 0, tonumber(count) - 1 do keys[#keys + 1] = P .. 'image:' .. id .. ':' .. n end
  return keys
end

local function dropImages(id, count)
  local keys = imageKeys(id, count)
  if #keys > 0 then call('UNLINK', unpack(keys)) end
end

local RANKS = { high = 0, normal = 1, low = 2 }
-- Priority first, then the order in which they came. Stays an exact number for 2^50 jobs.
local function newOrder(id, job)
  local order = RANKS[job.priority] * 2 ^ 50 + call('INCR', P .. 'sequence')
  set(id, job, 'order', string.format('%.0f', order))
end

local function queueUp(id, job)
  call('ZADD', P .. 'waiting:' .. job.model, job.order, id)
  call('ZADD', P .. 'since:' .. job.model, job.createdAt, id)
end

local function unqueue(id, job)
  call('ZREM', P .. 'waiting:' .. job.model, id)
  call('ZREM', P .. 'since:' .. job.model, id)
  call('ZREM', LATER, id)
end

-- Where BullMQ keeps what stands for this job.
local function ticketKey(id, job)
  return P .. 'bull:jobs-' .. job.queue .. ':' .. id .. '~' .. job.ticket
end
local function deliveryKey(id, job) return P .. 'bull:webhooks:' .. id .. '~' .. job.ticket end

-- A record with its results and its position, as it is answered.
local function found(id, job)
  local position = -1
  if job.state == 'queued' then
    local waiting = P .. 'waiting:' .. job.model
    position = call('ZRANK', waiting, id) or call('ZCARD', waiting)
  end
  return { flatten(id), isFinal(job) and call('GET', P .. 'result:' .. id), position }
end

-- From now on it may be removed when there is no room or its time is over.
local function retain(id, job)
  if call('ZADD', FINISHED, job.finishedAt, id) == 1 then
    call('HINCRBY', COUNTS, 'removable', job.bytes)
  end
end

-- A script that has written something is not stopped when Redis is full. What ends jobs makes
-- room in the end, so it must be able to go on.
local function beginEvenIfFull() call('UNLINK', P .. 'nothing') end

local GRACE_MS = 2000
local SPARE_MS = 86400000

local function finish(id, job, state, now, keepMs, problem, results)
  unqueue(id, job)
  call('ZREM', OPEN, id)
  call('ZREM', AUDIT, id)
  setState(id, job, state)
  local at = math.max(now, tonumber(job.startedAt or job.createdAt))
  set(id, job, 'finishedAt', string.format('%.0f', at))
  unset(id, job, 'token', 'notBefore')
  if problem and problem ~= '' then set(id, job, 'problem', problem)
  else unset(id, job, 'problem') end
  local bytes = tonumber(job.bytes)
  if state == 'completed' then
    dropImages(id, job.imageCount)
    bytes = bytes - tonumber(job.imageBytes)
  end
  if results and results ~= '' then
    call('SET', P .. 'result:' .. id, results)
    -- In case nobody sweeps. What a receiver waits for stays until it is delivered.
    if not job.webhookUrl then call('PEXPIRE', P .. 'result:' .. id, keepMs + SPARE_MS) end
    bytes = bytes + #results
  end
  setBytes(id, job, bytes)
  if job.webhookUrl then
    set(id, job, 'webhookState', 'pending')
    set(id, job, 'webhookAttempts', '0')
    call('ZADD', OUTBOX, now + GRACE_MS, id)
  else
    retain(id, job)
  end
  touch(id, job)
end

local function forget(id, job)
  call('HINCRBY', COUNTS, job.state, -1)
  call('ZREM', owned(job, job.state), id)
  call('ZREM', owned(job, 'all'), id)
  if call('ZREM', FINISHED, id) == 1 then
    call('HINCRBY', COUNTS, 'removable', '-' .. job.bytes)
  end
  call('ZREM', OUTBOX, id)
  call('HINCRBY', COUNTS, 'bytes', '-' .. job.bytes)
  if job.idempotency and call('GET', job.idempotency) == id then
    call('UNLINK', job.idempotency)
  end
  dropImages(id, job.imageCount)
  call('UNLINK', P .. 'job:' .. id, P .. 'result:' .. id)
  call('PUBLISH', P .. 'changes', id)
end

-- Removes the oldest finished jobs until so many bytes more fit. Says whether they do, and how many
-- it removed.
local function makeRoom(bytes, maxBytes)
  local counts = call('HMGET', COUNTS, 'bytes', 'removable')
  local held, removable = tonumber(counts[1] or 0), tonumber(counts[2] or 0)
  -- Nothing is removed in vain.
  if held - removable + bytes > maxBytes then return false, 0 end
  local removals = 0
  while held + bytes > maxBytes do
    local oldest = call('ZRANGE', FINISHED, 0, 0)[1]
    -- Everybody waits while a script runs, so it must end soon. The next submission goes on.
    if not oldest or removals == 2000 then return false, removals end
    beginEvenIfFull()
    removals = removals + 1
    local old = load(oldest)
    held = held - tonumber(old.bytes)
    forget(oldest, old)
  end
  return true, removals
end
`;
