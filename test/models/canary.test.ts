import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ErrorCode } from '../../src/errors.js';
import type { Detection } from '../../src/heads/detection.js';
import { EngineSupervisor } from '../../src/engine/supervisor.js';
import { Canary, type CanaryVerdict } from '../../src/models/canary.js';
import type { FakeEngine } from '../helpers/fake-engine.js';
import { engineHost, request } from '../helpers/fake-engine.js';

const CAT: Detection = { label: 'cat', confidence: 0.9, bbox: [1, 2, 3, 4] };
const DOG: Detection = { label: 'dog', confidence: 0.9, bbox: [1, 2, 3, 4] };

describe('Canary', () => {
  let engines: FakeEngine[];
  let supervisor: EngineSupervisor;
  let verdicts: CanaryVerdict[];
  const last = (): FakeEngine => engines.at(-1) as FakeEngine;

  beforeEach(async () => {
    vi.useFakeTimers();
    engines = [];
    verdicts = [];
    supervisor = new EngineSupervisor(engineHost(engines), 1e9);
    const started = supervisor.start();
    last().ready();
    await started;
  });
  afterEach(() => {
    supervisor.stop();
    vi.useRealTimers();
  });

  function start(detections?: readonly Detection[]): Canary {
    const { info } = request();
    const picture = { bytes: Buffer.alloc(1), info, threshold: 0.5 };
    const canary = new Canary(
      supervisor,
      { ...picture, ...(detections !== undefined && { detections }) },
      {
        compare: ([expected], [actual]) =>
          expected?.label === actual?.label ? undefined : 'it saw something else',
        onVerdict: (verdict) => verdicts.push(verdict),
      },
    );
    canary.start(1000);
    return canary;
  }
  /** The interval passes and the engine answers what it was asked. */
  async function ask(answer: readonly Detection[] | ErrorCode): Promise<void> {
    await vi.advanceTimersByTimeAsync(1000);
    const { id } = last().sent.at(-1) ?? { id: -1 };
    if (typeof answer === 'string') last().refuse(id, answer);
    else last().finish(id, answer);
    await vi.advanceTimersByTimeAsync(0);
  }

  it('leaves an engine alone that sees what is there', async () => {
    const canary = start([CAT]);
    await ask([CAT]);
    await ask([CAT]);
    canary.stop();
    expect(verdicts).toEqual(['ok', 'ok']);
    expect(engines).toHaveLength(1);
  });

  it('replaces one that sees something else, and has its work done again', async () => {
    start([CAT]);
    const answer = supervisor.submit(request());
    await ask([DOG]);
    expect(verdicts).toEqual(['wrong']);
    expect(engines[0]?.endedFor).toContain('it saw something else');
    last().ready();
    last().finish(last().sent[0]?.id ?? -1);
    await expect(answer).resolves.toBeDefined();
  });

  it('holds all answers to the first where nobody says what is there', async () => {
    start();
    await ask([DOG]);
    await ask([DOG]);
    await ask([CAT]);
    expect(verdicts).toEqual(['ok', 'ok', 'wrong']);
  });

  it.each(['model_failed', 'model_output_invalid'] as const)(
    'takes %s for nonsense when the picture was answered before',
    async (code) => {
      start();
      await ask(code);
      expect(verdicts).toEqual(['unanswered']);
      await ask([CAT]);
      await ask(code);
      expect(verdicts).toEqual(['unanswered', 'ok', 'wrong']);
    },
  );

  it('says nothing about an engine that is short of memory or ends meanwhile', async () => {
    start([CAT]);
    await ask('out_of_memory');
    await vi.advanceTimersByTimeAsync(1000);
    last().crash('SIGSEGV');
    await vi.advanceTimersByTimeAsync(0);
    expect(verdicts).toEqual(['unanswered', 'unanswered']);
    expect(supervisor.restarts).toBe(1);
  });

  it('does not ask one that has not answered yet', async () => {
    start([CAT]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(last().sent).toHaveLength(1);
  });
});
