import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cursorAfter, parseCursor } from '../../../src/jobs/redis/cursor.js';
import { keys, parseTicket, queueOf, ticketId } from '../../../src/jobs/redis/keys.js';
import { newFields, parseRecord, withResults } from '../../../src/jobs/redis/record.js';
import { expectCode } from '../../helpers/errors.js';
import { newJob } from '../../helpers/jobs.js';

const job = fc.record({
  owner: fc.string(),
  model: fc.string({ minLength: 1 }),
  priority: fc.constantFrom('high' as const, 'normal' as const, 'low' as const),
  threshold: fc.double({ min: 0, max: 1, noNaN: true }),
  createdAt: fc.nat(2 ** 31),
  expiresAt: fc.nat(2 ** 31),
});

describe('a record in Redis', () => {
  it('says what the job said', () => {
    fc.assert(
      fc.property(job, fc.option(fc.string(), { nil: undefined }), (changes, webhookUrl) => {
        const made = newJob({ ...changes, ...(webhookUrl !== undefined && { webhookUrl }) });
        const { images, fingerprint, ...spec } = made;
        expect(images.length + fingerprint.length).toBeGreaterThan(0);
        expect(parseRecord(newFields(made))).toEqual({
          ...spec,
          // Redis does not tell them apart, and nobody else does.
          threshold: spec.threshold + 0,
          state: 'queued',
          version: 0,
          tries: 0,
          losses: 0,
          done: 0,
        });
      }),
    );
  });

  it('has what happened since', () => {
    const problem = { code: 'model_failed', detail: 'It does not like it.' };
    const flat = [
      ...newFields(newJob()),
      ...['state', 'failed', 'version', '7', 'startedAt', '5', 'finishedAt', '6'],
      ...['problem', JSON.stringify(problem), 'webhookState', 'pending', 'webhookAttempts', '2'],
      ...['webhookReason', 'status 500'],
    ];
    expect(withResults(parseRecord(flat), '[{"detections":[],"inference_ms":1}]')).toMatchObject({
      ...{ state: 'failed', version: 7, startedAt: 5, finishedAt: 6, problem },
      webhook: { state: 'pending', attempts: 2, reason: 'status 500' },
      results: [{ detections: [], inference_ms: 1 }],
    });
    expect(withResults(parseRecord(flat), null)).not.toHaveProperty('results');
  });
});

describe('a cursor', () => {
  it('comes back as it went', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 40), (createdAt) => {
        const record = parseRecord(newFields(newJob({ createdAt })));
        const { id } = record;
        expect(parseCursor(cursorAfter(record))).toEqual({ createdAt: String(createdAt), id });
      }),
    );
  });

  it('that somebody made up is refused', () => {
    for (const text of ['', 'x', Buffer.from('1 a b').toString('base64url'), '🙂']) {
      expectCode('invalid_request', () => parseCursor(text));
    }
  });
});

describe('names in Redis', () => {
  it('keep owners with their keys apart, whatever they contain', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (a, b, c, d) => {
        fc.pre(a !== c || b !== d);
        expect(keys.idempotency('p', a, b)).not.toBe(keys.idempotency('p', c, d));
      }),
    );
  });

  it('of queues have no colon, and tickets can be read again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(), (model, number) => {
        expect(queueOf(model)).not.toContain(':');
        const ticket = { id: 'job_a~b', number: String(number) };
        expect(parseTicket(ticketId(ticket))).toEqual(ticket);
      }),
    );
  });
});
