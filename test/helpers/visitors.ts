import type { GateLimits, Visitor } from '../../src/admission/gate.js';
import { Tenant } from '../../src/admission/tenant.js';

export const LIMITS: GateLimits = {
  maxConcurrent: 2,
  maxQueue: 3,
  maxQueueBytes: 100,
  maxWaitMs: 'auto',
  targetMs: 0,
};

export function tenant(name: string, weight = 1, queueShare = 1): Tenant {
  const limits = { weight, rate: 0, concurrency: 0, queueShare, isBackground: false };
  return new Tenant({ name, owner: name, ...limits });
}

const SOMEBODY = tenant('somebody');

/** Somebody who has time, and no wishes but these. */
export function visitor(part: Partial<Visitor> = {}): Visitor {
  return {
    id: 'an-id',
    tenant: SOMEBODY,
    isBackground: false,
    bytes: 1,
    deadline: Infinity,
    isExpected: false,
    ...part,
  };
}
