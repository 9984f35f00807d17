import { describe, expect, it } from 'vitest';
import { msOfRole, parseThread, type ProcessTime, useBetween } from '../../bench/threads.js';

const reading = (pid: number, role: string, seconds: Record<number, number>): ProcessTime => ({
  pid,
  role,
  threads: Object.entries(seconds).map(([tid, used]) => ({
    tid: Number(tid),
    name: `t${tid}`,
    seconds: used,
  })),
});

describe('a line of /proc/…/stat', () => {
  it('gives name and time even where the name has brackets and spaces', () => {
    const stat = '77 (a (b) c) S 1 77 77 0 -1 4194304 100 0 0 0 250 50 9 9 20 0 11 0 123 456';
    expect(parseThread(77, stat)).toEqual({ tid: 77, name: 'a (b) c', seconds: 3 });
  });
});

describe('CPU between two readings', () => {
  const before = [reading(10, 'server', { 10: 1, 11: 5, 12: 0 })];
  const after = [
    reading(10, 'server', { 10: 2, 11: 5.5, 12: 3 }),
    reading(20, 'engine', { 20: 4, 21: 1 }),
  ];
  const [server, engine] = useBetween(before, after, 1000);

  it('is told per request, the main thread first and the others by use', () => {
    expect(server).toEqual({
      role: 'server',
      pid: 10,
      ms: 4.5,
      main: 1,
      others: [
        { name: 't12', ms: 3 },
        { name: 't11', ms: 0.5 },
      ],
    });
  });

  it('counts a process that has started meanwhile from zero', () => {
    expect(engine).toMatchObject({ ms: 5, main: 4 });
  });

  it('adds up all processes of a role', () => {
    const uses = useBetween([], [reading(1, 'front', { 1: 1 }), reading(2, 'front', { 2: 2 })], 1);
    expect(msOfRole(uses, 'front')).toBe(3000);
    expect(msOfRole(uses, 'engine')).toBe(0);
  });
});
