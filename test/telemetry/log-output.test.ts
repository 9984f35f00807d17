import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LogOutput } from '../../src/telemetry/log-output.js';

/** Takes what there is room for, as a pipe does: small writes whole or not at all. */
class Pipe {
  room = Number.POSITIVE_INFINITY;
  writes: string[] = [];
  slept = 0;
  error: string | undefined;
  onSleep: () => void = () => undefined;

  write(bytes: Buffer): number {
    if (this.error !== undefined) throw Object.assign(new Error('no'), { code: this.error });
    const taken =
      bytes.length <= 4096 && bytes.length > this.room ? 0 : Math.min(this.room, bytes.length);
    if (taken === 0) throw Object.assign(new Error('full'), { code: 'EAGAIN' });
    this.room -= taken;
    this.writes.push(bytes.subarray(0, taken).toString());
    return taken;
  }

  sleep(ms: number): void {
    this.slept += ms;
    this.onSleep();
  }

  get text(): string {
    return this.writes.join('');
  }
}

const line = (text: string): string => `${JSON.stringify({ msg: text })}\n`;

describe('LogOutput', () => {
  let pipe: Pipe;
  let output: LogOutput;
  beforeEach(() => {
    vi.useFakeTimers();
    pipe = new Pipe();
    output = new LogOutput(pipe);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('writes the lines of one turn at once', () => {
    output.write(line('a'));
    output.write(line('b'));
    expect(pipe.writes).toEqual([]);
    vi.runAllTimers();
    expect(pipe.writes).toEqual([line('a') + line('b')]);
  });

  it('cuts between lines, so that those of other processes cannot come in the middle of one', () => {
    const lines = Array.from({ length: 200 }, (_, at) => line(`${String(at)} ${'é'.repeat(at)}`));
    for (const one of lines) output.write(one);
    vi.runAllTimers();
    expect(pipe.text).toBe(lines.join(''));
    expect(pipe.writes.every((text) => text.endsWith('}\n'))).toBe(true);
    expect(Math.max(...pipe.writes.map((text) => Buffer.byteLength(text)))).toBeLessThanOrEqual(
      4096,
    );
  });

  it('waits for a reader without holding anything up', () => {
    pipe.room = 0;
    output.write(line('a'));
    vi.advanceTimersByTime(1000);
    output.write(line('b'));
    expect(pipe.text).toBe('');
    expect(pipe.slept).toBe(0);
    pipe.room = 1000;
    vi.advanceTimersByTime(1000);
    expect(pipe.text).toBe(line('a') + line('b'));
  });

  it('leaves lines out when nobody reads for long, and says how many', () => {
    pipe.room = 0;
    for (let count = 0; count < 3000; count++) output.write(line('x'.repeat(1000)));
    vi.advanceTimersByTime(1000);
    const kept = 3000 - output.dropped;
    expect(kept).toBe(Math.ceil(2 ** 20 / line('x'.repeat(1000)).length));
    pipe.room = Number.POSITIVE_INFINITY;
    vi.advanceTimersByTime(1000);
    const lines = pipe.text.trimEnd().split('\n');
    expect(lines).toHaveLength(kept + 1);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      level: 'warn',
      dropped: output.dropped,
    });
    output.write(line('again'));
    vi.runAllTimers();
    expect(pipe.text.endsWith(line('again'))).toBe(true);
  });

  it('gives a reader a little time at the end, but not more', () => {
    pipe.room = 0;
    output.write(line('last words'));
    output.end();
    expect(pipe.slept).toBe(500);
    pipe.onSleep = () => (pipe.room = 1000);
    output.end();
    expect(pipe.text).toBe(line('last words'));
  });

  it.each(['EPIPE', 'ENOSPC'])('goes on when what was wrong (%s) is over', (error) => {
    const write = vi.spyOn(pipe, 'write');
    pipe.error = error;
    output.write(line('a'));
    vi.advanceTimersByTime(10_000);
    // There may be nobody for ever, and asking costs something.
    expect(write.mock.calls.length).toBeLessThan(15);
    output.end();
    expect(pipe.slept).toBe(0);
    pipe.error = undefined;
    output.write(line('b'));
    vi.advanceTimersByTime(1000);
    expect(pipe.text).toBe(line('a') + line('b'));
  });

  it('writes at once when it is told to', () => {
    const done = vi.fn();
    output.write(line('a'));
    output.flush(done);
    expect(pipe.text).toBe(line('a'));
    expect(done).toHaveBeenCalledOnce();
  });

  it('loses no byte and keeps the order, whatever there is room for', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ chars: fc.nat(6000) }),
        fc.record({ room: fc.nat(9000) }),
        fc.record({ ms: fc.nat(50) }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const [own, written] = [new Pipe(), [] as string[]];
        own.room = 0;
        const target = new LogOutput(own);
        for (const step of all) {
          if ('chars' in step) {
            written.push(line('y'.repeat(step.chars)));
            target.write(written.at(-1) ?? '');
          } else if ('room' in step) own.room += step.room;
          else vi.advanceTimersByTime(step.ms);
        }
        expect(written.join('').startsWith(own.text)).toBe(true);
        own.room = Number.POSITIVE_INFINITY;
        vi.advanceTimersByTime(100);
        expect(own.text).toBe(written.join(''));
        expect(target.dropped).toBe(0);
      }),
    );
  });
});
