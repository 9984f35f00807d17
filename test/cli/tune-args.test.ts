import { describe, expect, it } from 'vitest';
import { parseTuneArgs, type TuneArgs } from '../../src/cli/tune-args.js';
import { TUNE_HELP } from '../../src/cli/tune-help.js';
import { barLine, plainLine } from '../../src/cli/tune-progress.js';
import { ConfigError } from '../../src/config/load.js';
import { AUTO } from '../../src/tune/candidate.js';
import { pacedVisit, visitOf } from '../helpers/findings.js';

const parse = (...args: string[]): TuneArgs => parseTuneArgs(args) as TuneArgs;

describe('the arguments of shoal tune', () => {
  it('have defaults', () => {
    expect(parse()).toEqual({
      model: undefined,
      device: 'auto',
      cacheDir: '',
      targetP99Ms: undefined,
      rate: undefined,
      seconds: 5,
      rounds: 3,
      maxBatch: 128,
      windows: [],
      images: [],
      form: 'json',
      svg: undefined,
      json: undefined,
    });
  });

  it('are read', () => {
    expect(
      parse(
        ...['models/mine', '--target-p99-ms', '50', '--rate', '20', '--windows', '0,5,5,10'],
        ...['--image', 'a.jpg', '--image', 'b.jpg', '--form', 'raw', '--max-batch', '8'],
      ),
    ).toMatchObject({
      model: 'models/mine',
      targetP99Ms: 50,
      rate: 20,
      windows: [0, 5, 10],
      images: ['a.jpg', 'b.jpg'],
      form: 'raw',
      maxBatch: 8,
    });
  });

  it.each([
    [['one', 'two'], 'give one model'],
    [['--seconds', '0'], '--seconds must be a number'],
    [['--rounds', '1.5'], '--rounds must be a whole number'],
    [['--max-batch', '0'], '--max-batch must be a number from 1 to 256'],
    [['--windows', '1,,2'], '--windows must be a number'],
    [['--rate', '5'], '--rate is for --target-p99-ms'],
    [['--form', 'xml'], '--form must be json or raw'],
    [['--round', '3'], 'did you mean --rounds?'],
    [['--svg'], 'shoal tune --help lists all'],
  ])('%j is refused', (args, message) => {
    expect(() => parseTuneArgs(args)).toThrow(ConfigError);
    expect(() => parseTuneArgs(args)).toThrow(message);
  });

  it('are all in the help, which is asked for with --help', () => {
    expect(parseTuneArgs(['--seconds', '5', '--help'])).toBe('help');
    const listed = [...TUNE_HELP.matchAll(/^ {2}--([\w-]+)/gm)].map(([, flag]) => flag);
    for (const flag of listed) {
      expect(() => parseTuneArgs([`--${String(flag)}`, 'x'])).not.toThrow('Unknown option');
    }
    expect(listed).toHaveLength(13);
  });
});

describe('the progress', () => {
  const progress = { stage: 'search', candidate: AUTO, share: 0.5, leftMs: 125_000 };

  it('is a bar with percent and time left, which counts down', () => {
    expect(barLine(progress, 0)).toBe(
      `${'█'.repeat(12)}${'░'.repeat(12)} 50 %, 2 min 5 s left; search: auto`,
    );
    expect(barLine(progress, 70_000)).toContain(', 55 s left;');
    expect(barLine(progress, 1e9)).toContain(', 0 s left;');
  });

  it('is a line with what was found where there is no terminal', () => {
    const head = '50 %, 2 min 5 s left; search: auto';
    expect(plainLine(progress)).toBe(head);
    expect(plainLine({ ...progress, ended: visitOf(88, 42) })).toBe(
      `${head}: 88.0 images/s, p99 42.0 ms`,
    );
    expect(plainLine({ ...progress, ended: pacedVisit(88, null) })).toBe(`${head}: 88.0 images/s`);
    expect(plainLine({ ...progress, ended: 'no memory' })).toBe(`${head}: did not work, no memory`);
  });
});
