import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { JOB_ID, newJobId } from '../../../src/jobs/job.js';
import { secretsOf, signatureHeaders, writeMessage } from '../../../src/jobs/webhooks/message.js';
import { webhookPolicy } from '../../../src/jobs/webhooks/policy.js';
import { ConfigError } from '../../../src/config/load.js';
import { expectCode } from '../../helpers/errors.js';
import { job, SECRETS } from './parcels.js';

const [one, two, own] = SECRETS;
const tenants = [
  { name: 'plain', api_key: 'plain-key' },
  { name: 'own', api_key: 'own-key-1', webhook_secret: own },
];
const settings = { webhook_secrets: [one, two], tenants, webhook_allow: [] };

describe('a message', () => {
  it('tells the job as clients see it', () => {
    const text = writeMessage(job()).body.toString();
    expect(JSON.parse(text)).toEqual({
      type: 'job.completed',
      timestamp: '1970-01-01T00:16:40.130Z',
      data: expect.objectContaining({
        id: 'job_abcdefghijklmnopqrstuvwx',
        state: 'completed',
        finished_at: '1970-01-01T00:16:40.130Z',
        results: job().results,
      }) as unknown,
    });
    expect(text).not.toContain('anonymous');
  });

  it.each(['completed', 'failed', 'cancelled', 'expired'] as const)('says job.%s', (state) => {
    const { body } = writeMessage(job({ state }));
    expect(JSON.parse(body.toString())).toMatchObject({ type: `job.${state}`, data: { state } });
  });

  it('is the same in every attempt', () => {
    const first = writeMessage(job({ webhook: { state: 'pending', attempts: 0 } }));
    const webhook = { state: 'pending', attempts: 3, reason: 'timeout' } as const;
    const fourth = writeMessage(job({ webhook, version: 9 }));
    expect(fourth).toEqual(first);
    expect(first.body.toString()).not.toContain('"webhook"');
  });

  it('has another id when the job was queued again and has ended once more', () => {
    const failed = writeMessage(job({ state: 'failed' }));
    const completed = writeMessage(job({ finishedAt: 1_000_131 }));
    expect(completed.id).not.toBe(failed.id);
  });

  it('has an id without a dot, which separates what is signed', () => {
    const id = newJobId();
    expect(id).toMatch(JOB_ID);
    expect(writeMessage(job({ id })).id).toBe(`msg_${id.slice(4)}_${(1_000_130).toString(36)}`);
    expect(writeMessage(job({ id })).id).not.toContain('.');
  });

  it.each(['queued', 'running'] as const)('is not written about a %s job', (state) => {
    expect(() => writeMessage(job({ state }))).toThrow('has not ended');
  });
});

describe('the signature', () => {
  it('is made with every secret, of id, time and body', () => {
    const message = writeMessage(job());
    const headers = signatureHeaders(message, [one, two], 1_700_000_000_999);
    expect(headers['webhook-timestamp']).toBe('1700000000');
    const expected = [one, two].map((secret) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const signed = `${message.id}.1700000000.${message.body.toString()}`;
      return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    });
    expect(headers['webhook-signature']).toBe(expected.join(' '));
    expect(expected[0]).not.toBe(expected[1]);
  });

  it('agrees with a value that was computed by other means', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const body = Buffer.from('{"test": 2432232314}');
    const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body };
    expect(signatureHeaders(message, [secret], 1_614_265_330_000)['webhook-signature']).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  it('of a tenant with a secret of its own is made with that one only', () => {
    expect(secretsOf(settings, 'tenant:own')).toEqual([own]);
    for (const owner of ['tenant:plain', 'tenant:gone', 'anonymous', 'key:own', 'own']) {
      expect(secretsOf(settings, owner)).toEqual([one, two]);
    }
  });
});

describe('the policy for submitted jobs', () => {
  const url = 'https://example.com/hook';

  it('takes a public address, and a private one that is allowed', () => {
    const open = webhookPolicy({ ...settings, webhook_allow: ['127.0.0.0/8'] });
    expect(() => {
      webhookPolicy(settings).check(url, 'anonymous');
      open.check('http://127.0.0.1', 'anonymous');
    }).not.toThrow();
  });

  it('refuses a private one', () => {
    expectCode('webhook_refused', () => {
      webhookPolicy(settings).check('http://127.0.0.1/', 'anonymous');
    });
  });

  it('refuses whoever has no secret to sign with', () => {
    const policy = webhookPolicy({ ...settings, webhook_secrets: [] });
    expect(() => {
      policy.check(url, 'tenant:own');
    }).not.toThrow();
    for (const owner of ['tenant:plain', 'anonymous']) {
      const detail = expectCode('webhook_refused', () => {
        policy.check(url, owner);
      });
      expect(detail).toBe('Set webhook_secrets to sign webhooks with.');
    }
  });

  it('cannot be made from a list that cannot be read', () => {
    expect(() => webhookPolicy({ ...settings, webhook_allow: ['home'] })).toThrow(ConfigError);
  });
});
