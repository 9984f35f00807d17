/** What those who run jobs and deliver webhooks do. */

/**
 * `id, ticket, token, now, keepMs, maxLosses, problem of a lost job`. The token is new with every
 * call, so an answer that got lost is given again when the same call is repeated.
 */
export const START = `
beginEvenIfFull()
local id, token, now, keepMs = ARGV[1], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local job = load(id)
if not job or job.ticket ~= ARGV[2] or isFinal(job) then return { 'stale' } end
if job.token == token then return { 'run', flatten(id) } end
if tonumber(job.expiresAt) <= now then
  finish(id, job, 'expired', now, keepMs)
  return { 'stale' }
end
if job.state == 'running' then
  -- It is given out a second time only when the first one has disappeared.
  set(id, job, 'losses', string.format('%.0f', tonumber(job.losses) + 1))
  if tonumber(job.losses) >= tonumber(ARGV[6]) then
    finish(id, job, 'failed', now, keepMs, ARGV[7])
    return { 'stale' }
  end
elseif job.notBefore and tonumber(job.notBefore) > now then
  return { 'early', job.notBefore }
end
unqueue(id, job)
unset(id, job, 'notBefore')
set(id, job, 'token', token)
set(id, job, 'startedAt', string.format('%.0f', math.max(now, tonumber(job.createdAt))))
set(id, job, 'done', '0')
setState(id, job, 'running')
touch(id, job)
return { 'run', flatten(id) }
`;

/** `id, token, now, keepMs, state, problem or '', results or ''` */
export const SETTLE = `
beginEvenIfFull()
local id, token = ARGV[1], ARGV[2]
local job = load(id)
if not job then return { 'lost' } end
if job.ended == token then return { 'ok', flatten(id) } end
if job.state ~= 'running' or job.token ~= token then return { 'lost' } end
set(id, job, 'ended', token)
finish(id, job, ARGV[5], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[6], ARGV[7])
return { 'ok', flatten(id) }
`;

/** `id, token, problem or '' to release, notBefore, 1 when it counts as a try` */
export const REQUEUE = `
beginEvenIfFull()
local id, token, problem, notBefore = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local job = load(id)
if not job then return 'lost' end
if job.ended == token then return 'ok' end
if job.state ~= 'running' or job.token ~= token then return 'lost' end
setState(id, job, 'queued')
unset(id, job, 'token', 'startedAt')
set(id, job, 'ended', token)
set(id, job, 'done', '0')
if problem == '' then
  queueUp(id, job)
else
  set(id, job, 'problem', problem)
  set(id, job, 'tries', string.format('%.0f', tonumber(job.tries) + tonumber(ARGV[5])))
  set(id, job, 'notBefore', notBefore)
  call('ZADD', LATER, notBefore, id)
end
touch(id, job)
return 'ok'
`;

/** `id, token, done` */
export const PROGRESS = `
local id = ARGV[1]
local job = load(id)
if not job or job.token ~= ARGV[2] or job.done == ARGV[3] then return 0 end
set(id, job, 'done', ARGV[3])
touch(id, job)
return 1
`;

/** Pairs of `id, token`; answers with the tokens that are worth nothing any more. */
export const CHECK = `
local lost = {}
for n = 1, #ARGV, 2 do
  if call('HGET', P .. 'job:' .. ARGV[n], 'token') ~= ARGV[n + 1] then
    lost[#lost + 1] = ARGV[n + 1]
  end
end
return lost
`;

/** `id, ticket`; answers with the record and results of a job whose receiver waits. */
export const DELIVERY = `
local id = ARGV[1]
local job = load(id)
if not job or job.ticket ~= ARGV[2] or job.webhookState ~= 'pending' then return false end
return { flatten(id), call('GET', P .. 'result:' .. id) }
`;

/** `id, ticket, attempt, now, state, reason or ''` */
export const DELIVERED = `
beginEvenIfFull()
local id, attempt, state = ARGV[1], ARGV[3], ARGV[5]
local job = load(id)
if not job or job.ticket ~= ARGV[2] or job.webhookState ~= 'pending' then return 'lost' end
if tonumber(job.webhookAttempts) ~= tonumber(attempt) - 1 then return 'lost' end
set(id, job, 'webhookAttempts', attempt)
set(id, job, 'webhookState', state)
if ARGV[6] ~= '' then set(id, job, 'webhookReason', ARGV[6])
else unset(id, job, 'webhookReason') end
if state ~= 'pending' then
  call('ZREM', OUTBOX, id)
  retain(id, job)
end
touch(id, job)
return 'ok'
`;
