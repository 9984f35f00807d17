import { MessageChannel, markAsUntransferable } from 'node:worker_threads';
import { describe, expect, it, vi } from 'vitest';
import type { SessionAnswer } from '../../src/engine-process/pipeline-messages.js';
import { buffersOf, partsOf, postParts } from '../../src/engine-process/ran-parts.js';

const outputs = (count: number) => ({
  boxes: { data: new Float32Array(count * 4), dims: [count, 4] },
  classes: { data: new Int32Array(count), dims: [count] },
});

describe('partsOf', () => {
  it('keeps together what ran together, and apart what failed', () => {
    vi.spyOn(console, 'error').mockReturnValue(undefined);
    const [first, second] = [outputs(2), outputs(1)];
    const parts = partsOf([
      { outputs: first, index: 0 },
      { outputs: first, index: 1 },
      { error: new Error('no') },
      { outputs: second, index: 0 },
      { error: new Error('out of memory') },
    ]);
    expect(parts).toEqual([
      { count: 2, outputs: first },
      { count: 1, error: expect.objectContaining({ code: 'model_failed' }) as unknown },
      { count: 1, outputs: second },
      { count: 1, error: expect.objectContaining({ code: 'out_of_memory' }) as unknown },
    ]);
    expect(buffersOf(parts)).toHaveLength(4);
  });
});

describe('postParts', () => {
  /** What arrives at the other end of a channel. */
  async function post(ran: SessionAnswer): Promise<SessionAnswer> {
    const { port1, port2 } = new MessageChannel();
    const arrived = new Promise<SessionAnswer>((resolve) => {
      port2.once('message', resolve);
    });
    postParts((message, transfer) => {
      port1.postMessage(message, transfer);
    }, ran);
    const message = await arrived;
    port1.close();
    return message;
  }

  it('hands pixels and outputs over without a copy', async () => {
    const own = outputs(2);
    const pixels = new ArrayBuffer(8);
    const ran = { kind: 'ran', pixels, ms: 1, parts: [{ count: 2, outputs: own }] } as const;
    expect(await post(ran)).toMatchObject({ ms: 1, parts: [{ outputs: outputs(2) }] });
    expect([pixels.byteLength, own.boxes.data.length]).toEqual([0, 0]);
  });

  it('copies outputs that cannot be handed over', async () => {
    const own = outputs(2);
    own.classes.data.set([3, 4]);
    markAsUntransferable(own.classes.data.buffer);
    const pixels = new ArrayBuffer(8);
    const ran = { kind: 'ran', pixels, ms: 1, parts: [{ count: 2, outputs: own }] } as const;
    const [part] = (await post(ran)).parts;
    const data = part !== undefined && 'outputs' in part ? part.outputs['classes']?.data : [];
    expect([...(data ?? [])]).toEqual([3, 4]);
    expect(pixels.byteLength).toBe(0);
  });
});
