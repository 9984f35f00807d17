import { describe, expect, it } from 'vitest';
import { Gate, type Refusal } from '../../src/admission/gate.js';
import { Cancellation } from '../../src/cancellation.js';
import { expectCode, expectRejection } from '../helpers/errors.js';
import { LIMITS, visitor } from '../helpers/visitors.js';

const FULL: Refusal = { code: 'gpu_memory_high', detail: 'It is full.', retryAfterSeconds: 5 };
const VISITOR = visitor();
const createGate = (): Gate => new Gate({ ...LIMITS, maxConcurrent: 1 });

describe('a closed gate', () => {
  it('refuses everybody at once, with its own reason, and takes them when it is open', async () => {
    const gate = createGate();
    gate.close(FULL);
    expect([gate.isClosed, gate.isCrowded]).toEqual([true, true]);
    expect(gate.assess(VISITOR)).toEqual(FULL);
    for (const isBackground of [false, true]) {
      expectCode('gpu_memory_high', () => {
        gate.check({ ...VISITOR, isBackground, isExpected: true });
      });
    }
    const run = (): Promise<string> =>
      gate.run(VISITOR, new Cancellation(), () => Promise.resolve('done'));
    await expectRejection('gpu_memory_high', run());
    gate.close(undefined);
    expect([gate.isClosed, gate.isCrowded]).toEqual([false, false]);
    expect(await run()).toBe('done');
  });

  it('finishes what it has taken, also what still waits', async () => {
    const gate = createGate();
    let finish = (): void => undefined;
    const first = gate.run(
      VISITOR,
      new Cancellation(),
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const second = gate.run(VISITOR, new Cancellation(), () => Promise.resolve('done'));
    gate.close(FULL);
    finish();
    await first;
    expect(await second).toBe('done');
  });

  it('tells when it changes, and only then', () => {
    const gate = createGate();
    const told: boolean[] = [];
    gate.onClosed = (isClosed) => told.push(isClosed);
    for (const refusal of [undefined, FULL, { ...FULL }, undefined, undefined]) gate.close(refusal);
    expect(told).toEqual([true, false]);
  });
});
