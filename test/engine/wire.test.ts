import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFrames } from '../../src/engine-process/read-frames.js';
import { encodeFrameHead, FRAME, type Frame, FrameReader } from '../../src/engine/wire.js';

function encode(frames: readonly { meta: unknown; body: Uint8Array }[]): Buffer {
  return Buffer.concat(
    frames.flatMap(({ meta, body }) => [encodeFrameHead(FRAME.item, meta, body.length), body]),
  );
}

describe('FrameReader', () => {
  it('puts the same frames together however the stream is cut', () => {
    const frame = fc.record({
      meta: fc.option(fc.dictionary(fc.string(), fc.integer()), { nil: undefined }),
      body: fc.uint8Array({ maxLength: 60 }),
    });
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), cuts, (frames, sizes) => {
        const read: Frame[] = [];
        const reader = new FrameReader((one) => read.push(one));
        const stream = encode(frames);
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          reader.push(stream.subarray(at, at + size));
          at += size;
        }
        expect(read.map(({ meta }) => meta)).toEqual(
          frames.map(({ meta }) => (meta === undefined ? undefined : { ...meta })),
        );
        expect(read.map(({ body }) => [...body])).toEqual(frames.map(({ body }) => [...body]));
      }),
    );
  });

  it('lets whoever reads the stream put bodies where they belong', () => {
    const frame = fc.record({ meta: fc.integer(), body: fc.uint8Array({ maxLength: 60 }) });
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), sizes, (frames, reads) => {
        const read: Frame[] = [];
        const socket = readFrames(new FrameReader((one) => read.push(one)));
        const stream = encode(frames);
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const target = (socket.buffer as () => Uint8Array)();
          const size = Math.min(target.length, reads[turn % reads.length] ?? 1, stream.length - at);
          target.set(stream.subarray(at, at + size));
          socket.callback(size, target);
          at += size;
        }
        expect(read.map(({ meta }) => meta)).toEqual(frames.map(({ meta }) => meta));
        expect(read.map(({ body }) => [...body])).toEqual(frames.map(({ body }) => [...body]));
      }),
    );
  });

  it('reads bodies into the memory it is given', () => {
    const memory = new Uint8Array(8);
    const read: Frame[] = [];
    const reader = new FrameReader(
      (one) => read.push(one),
      (bytes) => memory.subarray(0, bytes),
    );
    reader.push(encode([{ meta: { id: 1 }, body: Uint8Array.of(7, 8, 9) }]));
    expect(read[0]?.body.buffer).toBe(memory.buffer);
    expect([...memory.subarray(0, 3)]).toEqual([7, 8, 9]);
  });

  it('refuses a length that no frame has', () => {
    const reader = new FrameReader(() => undefined);
    expect(() => {
      reader.push(Buffer.alloc(12, 0xff));
    }).toThrow('wire');
  });
});
