import type { Gate, Visitor } from './gate.js';

/**
 * Lets a request in by what its headers say, and counts it as its tenant's. It is over when
 * `tenant.leave` is called.
 * @throws when it is refused
 */
export function enter(gate: Gate, newcomer: Visitor): Visitor {
  const visitor = { ...newcomer, isExpected: gate.redeem(newcomer.id) };
  gate.check(visitor);
  visitor.tenant.enter();
  return visitor;
}
