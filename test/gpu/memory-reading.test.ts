import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineSplitter } from '../../src/gpu/line-process.js';
import { parseGpuLine, parseProcessLine } from '../../src/gpu/memory-reading.js';

const MiB = 2 ** 20;
const UUID = 'GPU-a7178a3a-844c-e1a4-b44d-386ae6fe0f18';
const LINE = `0, ${UUID}, NVIDIA H200, 2667, 143771, 12`;

describe('a line about a GPU', () => {
  it('is read', () => {
    expect(parseGpuLine(LINE)).toEqual({
      vendor: 'nvidia',
      index: 0,
      uuid: UUID,
      name: 'NVIDIA H200',
      usedBytes: 2667 * MiB,
      totalBytes: 143771 * MiB,
      utilization: 0.12,
    });
  });

  it.each(['[N/A]', '[Not Supported]', '101', ''])('may lack its utilization (%s)', (busy) => {
    const reading = parseGpuLine(`1, ${UUID}, NVIDIA A30, 5, 24576, ${busy}`);
    expect(reading).toMatchObject({ index: 1, usedBytes: 5 * MiB });
    expect(reading).not.toHaveProperty('utilization');
  });

  it.each([
    ['nothing', ''],
    ['no used memory', `0, ${UUID}, NVIDIA H200, [N/A], 143771, 12`],
    ['no permission', `0, ${UUID}, NVIDIA A100, [Insufficient Permissions], 81920, [N/A]`],
    ['no total memory', `0, ${UUID}, NVIDIA GB10, 100, [Not Supported], 12`],
    ['a total of nothing', `0, ${UUID}, NVIDIA H200, 0, 0, 12`],
    ['more used than there is', `0, ${UUID}, NVIDIA H200, 143772, 143771, 12`],
    ['half a line', LINE.slice(0, 40)],
    ['two lines in one', LINE.slice(0, 30) + LINE],
    ['the slice of a GPU', LINE.replace('GPU-', 'MIG-')],
    ['a failure', 'NVIDIA-SMI has failed because it could not communicate with the driver.'],
  ])('says nothing when it has %s', (_name, line) => {
    expect(parseGpuLine(line)).toBeUndefined();
  });

  it('is a reading that can be, or none', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(LINE.length), fc.nat(LINE.length), (noise, from, to) => {
        for (const line of [noise, LINE.slice(0, from) + noise + LINE.slice(to)]) {
          const reading = parseGpuLine(line);
          if (reading === undefined) continue;
          const { usedBytes, totalBytes, utilization = 0 } = reading;
          expect(totalBytes).toBeGreaterThan(0);
          expect(usedBytes / totalBytes).toBeGreaterThanOrEqual(0);
          expect(usedBytes / totalBytes).toBeLessThanOrEqual(1);
          expect(utilization).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});

describe('a line about a process', () => {
  it('is read', () => {
    expect(parseProcessLine(`554, ${UUID}, 2658`)).toEqual({
      pid: 554,
      uuid: UUID,
      bytes: 2658 * MiB,
    });
  });

  it.each([`554, ${UUID}, [N/A]`, `[N/A], ${UUID}, 5`, '554, here, 5', `554, ${UUID}`, ''])(
    'says nothing when it is "%s"',
    (line) => {
      expect(parseProcessLine(line)).toBeUndefined();
    },
  );
});

describe('lines', () => {
  it('are the same, however they arrive', () => {
    const text = fc.stringMatching(/^[a-z\n]{0,80}$/);
    fc.assert(
      fc.property(text, fc.array(fc.nat(80)), (whole, cuts) => {
        const lines: string[] = [];
        const push = lineSplitter({ onLine: (line) => lines.push(line) });
        const edges = [0, ...cuts.sort((one, other) => one - other), whole.length];
        for (const [at, edge] of edges.entries()) push(whole.slice(edge, edges[at + 1]));
        expect(lines).toEqual(whole.split('\n').slice(0, -1));
      }),
    );
  });

  it('without an end are not kept', () => {
    const lines: string[] = [];
    const push = lineSplitter({ onLine: (line) => lines.push(line) });
    for (let index = 0; index < 10; index++) push('x'.repeat(1000));
    push('\nnext\r\n');
    expect(lines.at(-1)).toBe('next');
    expect(lines.join('').length).toBeLessThan(6000);
  });
});
