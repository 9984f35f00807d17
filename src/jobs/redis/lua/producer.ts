/** What those who hand jobs in and read them do. */

/**
 * `id, now, idempotency key or '', fingerprint, maxOpen, maxBytes, bytes, imageTtl`, then fields
 * and values of the record. The images are there already.
 */
export const SUBMIT = `
local id, now, idempotency, fingerprint = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local maxOpen, maxBytes, bytes = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local job = {}
for n = 9, #ARGV, 2 do job[ARGV[n]] = ARGV[n + 1] end
local function refuse(answer)
  dropImages(id, job.imageCount)
  return { answer }
end

local first = idempotency ~= '' and call('GET', idempotency) or id
local known = call('HGET', P .. 'job:' .. first, 'fingerprint')
if known then
  if first ~= id then dropImages(id, job.imageCount) end
  if known ~= fingerprint then return { 'used' } end
  return { 'known', unpack(found(first, load(first))) }
end

if call('ZCARD', OPEN) >= maxOpen then return refuse('queue_full') end
local keys = imageKeys(id, job.imageCount)
if call('EXISTS', unpack(keys)) ~= #keys then return refuse('no_images') end
if not makeRoom(bytes, maxBytes) then return refuse('store_full') end

call('HSET', P .. 'job:' .. id, unpack(ARGV, 9))
if idempotency ~= '' then
  set(id, job, 'idempotency', idempotency)
  call('SET', idempotency, id)
end
for _, key in ipairs(keys) do call('PEXPIRE', key, ARGV[8]) end
setBytes(id, job, bytes)
job.state = nil
setState(id, job, 'queued')
newOrder(id, job)
queueUp(id, job)
call('SADD', P .. 'models', job.model)
call('ZADD', owned(job, 'all'), job.createdAt, id)
call('ZADD', OPEN, job.expiresAt, id)
call('ZADD', AUDIT, now + GRACE_MS, id)
touch(id, job)
return { 'new', unpack(found(id, job)) }
`;

/** Whether there would be room: asked before many bytes are sent. `maxOpen, maxBytes, bytes` */
export const PROBE = `
if call('ZCARD', OPEN) >= tonumber(ARGV[1]) then return 'queue_full' end
local counts = call('HMGET', COUNTS, 'bytes', 'removable')
local fixed = tonumber(counts[1] or 0) - tonumber(counts[2] or 0)
if fixed + tonumber(ARGV[3]) > tonumber(ARGV[2]) then return 'store_full' end
return 'ok'
`;

/** `maxBytes, bytes`; removes finished jobs so that these fit. Says how many. */
export const MAKE_ROOM = `
local _, removals = makeRoom(tonumber(ARGV[2]), tonumber(ARGV[1]))
return removals
`;

/** `id`; answers with the record, its results and its position. */
export const READ = `
local job = load(ARGV[1])
return job and found(ARGV[1], job)
`;

/** `owner, state or 'all', limit, score and id of the last one before or ''`; newest first. */
export const LIST = `
-- By bytes, as Redis orders them: Lua's own comparison follows the language of the server.
local function isBelow(a, b)
  for n = 1, math.min(#a, #b) do
    local x, y = a:byte(n), b:byte(n)
    if x ~= y then return x < y end
  end
  return #a < #b
end
local key, limit = P .. 'owner:' .. ARGV[1] .. ':' .. ARGV[2], tonumber(ARGV[3])
local start = 0
if ARGV[5] ~= '' then
  start = call('ZCOUNT', key, '(' .. ARGV[4], '+inf')
  -- Equal times are listed from the highest id to the lowest.
  for _, id in ipairs(call('ZRANGEBYSCORE', key, ARGV[4], ARGV[4])) do
    if not isBelow(id, ARGV[5]) then start = start + 1 end
  end
end
local ids = call('ZREVRANGE', key, start, start + limit)
local page = {}
for n = 1, math.min(limit, #ids) do page[n] = flatten(ids[n]) end
return { page, #ids > limit and 1 or 0 }
`;

/** `id, now, keepMs`; ends an open job. Says whether it did. */
export const CANCEL = `
beginEvenIfFull()
local id = ARGV[1]
local job = load(id)
if not job then return false end
if isFinal(job) then return { 0, flatten(id) } end
finish(id, job, 'cancelled', tonumber(ARGV[2]), tonumber(ARGV[3]))
return { 1, flatten(id) }
`;

/** `id, now, expiresAt, imageTtl, maxOpen`; queues a finished job again. */
export const REOPEN = `
local id, now = ARGV[1], tonumber(ARGV[2])
local job = load(id)
if not job then return { 'missing' } end
if not isFinal(job) or job.state == 'completed' then return { 'conflict' } end
local keys = imageKeys(id, job.imageCount)
if call('EXISTS', unpack(keys)) ~= #keys then return { 'conflict' } end
if call('ZCARD', OPEN) >= tonumber(ARGV[5]) then return { 'queue_full' } end
if call('ZREM', FINISHED, id) == 1 then
  call('HINCRBY', COUNTS, 'removable', '-' .. job.bytes)
end
call('ZREM', OUTBOX, id)
setBytes(id, job, tonumber(job.bytes) - call('STRLEN', P .. 'result:' .. id))
call('UNLINK', P .. 'result:' .. id)
unset(id, job, 'startedAt', 'finishedAt', 'problem', 'webhookState', 'webhookAttempts',
  'webhookReason', 'ended')
for _, field in ipairs({ 'tries', 'losses', 'done' }) do set(id, job, field, '0') end
set(id, job, 'expiresAt', ARGV[3])
-- What BullMQ still knows of it belongs to its former life.
set(id, job, 'ticket', string.format('%.0f', tonumber(job.ticket) + 1))
for _, key in ipairs(keys) do call('PEXPIRE', key, ARGV[4]) end
setState(id, job, 'queued')
newOrder(id, job)
queueUp(id, job)
call('ZADD', OPEN, ARGV[3], id)
call('ZADD', AUDIT, now + GRACE_MS, id)
touch(id, job)
return { 'ok', flatten(id) }
`;

/** `owner, state, limit`; removes finished jobs and says how many. */
export const PURGE = `
beginEvenIfFull()
local removed = 0
for _, id in ipairs(call('ZRANGE', P .. 'owner:' .. ARGV[1] .. ':' .. ARGV[2], 0, ARGV[3] - 1)) do
  local job = load(id)
  if job and isFinal(job) then
    forget(id, job)
    removed = removed + 1
  end
end
return removed
`;

export const STATS = `
local waiting = {}
for _, model in ipairs(call('SMEMBERS', P .. 'models')) do
  local count = call('ZCARD', P .. 'waiting:' .. model)
  if count > 0 then
    local since = call('ZRANGE', P .. 'since:' .. model, 0, 0, 'WITHSCORES')[2]
    waiting[#waiting + 1] = { model, count, since }
  end
end
return { call('HGETALL', COUNTS), waiting, call('ZCARD', OUTBOX) }
`;
