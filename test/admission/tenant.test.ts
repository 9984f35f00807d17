import { describe, expect, it } from 'vitest';
import { Forecast } from '../../src/admission/forecast.js';
import { Tenant } from '../../src/admission/tenant.js';
import { tenantsByKey } from '../../src/admission/tenants.js';
import { loadConfig } from '../../src/config/load.js';
import type { Config } from '../../src/config/schema.js';
import { expectCode } from '../helpers/errors.js';

const LIMITS = {
  name: 'a',
  owner: 'a',
  weight: 1,
  rate: 0,
  concurrency: 0,
  queueShare: 1,
  isBackground: false,
} as const;

describe('Tenant', () => {
  it('may send what its rate allows, a second of it at once', () => {
    let now = 0;
    const tenant = new Tenant({ ...LIMITS, rate: 5 }, () => now);
    for (let index = 0; index < 5; index++) tenant.enter();
    expectCode('rate_limited', () => {
      tenant.enter();
    });
    now = 200;
    tenant.enter();
    expectCode('rate_limited', () => {
      tenant.enter();
    });
    now = 60_000;
    for (let index = 0; index < 5; index++) tenant.enter();
    expectCode('rate_limited', () => {
      tenant.enter();
    });
  });

  it('is told when there is something for it again', () => {
    const tenant = new Tenant({ ...LIMITS, rate: 0.25 }, () => 0);
    tenant.enter();
    try {
      tenant.enter();
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 4 });
    }
  });

  it('may have so many in work and no more', () => {
    const tenant = new Tenant({ ...LIMITS, concurrency: 2 }, () => 0);
    tenant.enter();
    tenant.enter();
    expectCode('concurrency_limited', () => {
      tenant.enter();
    });
    tenant.leave();
    tenant.enter();
  });
});

describe('tenantsByKey', () => {
  const base = loadConfig({ environment: {}, flags: {} });

  it('names plain keys and gives tenants what they have of their own', () => {
    const config: Config = {
      ...base,
      api_keys: ['plain-key-1'],
      tenants: [{ name: 'shop', api_key: 'shop-key-1', weight: 3, priority: 'background' }],
    };
    const tenants = tenantsByKey(config);
    expect(tenants.get('plain-key-1')).toMatchObject({
      name: 'key-1',
      weight: 1,
      queueShare: 0.5,
      isBackground: false,
    });
    expect(tenants.get('shop-key-1')).toMatchObject({
      name: 'shop',
      weight: 3,
      isBackground: true,
    });
  });

  it('leaves the whole queue to a tenant that is alone', () => {
    const alone = tenantsByKey({ ...base, api_keys: ['plain-key-1'] });
    expect(alone.get('plain-key-1')?.queueShare).toBe(1);
  });
});

describe('Forecast', () => {
  it('knows nothing and refuses nothing at first', () => {
    expect(new Forecast().finishMs(0, 1000)).toBe(0);
  });

  it('starts from the profile and follows what batches take', () => {
    const forecast = new Forecast();
    forecast.setPlan(2, { size: 4, ms: 40 });
    expect(forecast.ratePerMs(0)).toBeCloseTo(0.2);
    expect(forecast.finishMs(0, 0)).toBe(40);
    expect(forecast.finishMs(0, 19)).toBeCloseTo(100);
    for (let batch = 0; batch < 100; batch++) forecast.ran(4, 80);
    expect(forecast.ratePerMs(0)).toBeCloseTo(0.1);
    expect(forecast.serviceMs).toBeCloseTo(80);
  });

  it('believes what left under load for a while only', () => {
    const forecast = new Forecast();
    forecast.setPlan(1, { size: 1, ms: 10 });
    for (let now = 0; now <= 5000; now += 20) forecast.completed(now, true);
    expect(forecast.ratePerMs(5000)).toBeCloseTo(0.05);
    expect(forecast.ratePerMs(60_000)).toBeCloseTo(0.1);
  });
});
