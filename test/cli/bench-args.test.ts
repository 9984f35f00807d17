import { describe, expect, it } from 'vitest';
import { type BenchArgs, parseBenchArgs } from '../../src/cli/bench-args.js';
import { BENCH_HELP } from '../../src/cli/bench-help.js';
import { ConfigError } from '../../src/config/load.js';

const parse = (...args: string[]): BenchArgs => parseBenchArgs(args) as BenchArgs;

describe('the arguments of shoal bench', () => {
  it('have defaults', () => {
    expect(parse()).toMatchObject({
      rates: [],
      seconds: 4,
      arrivals: 'poisson',
      timeoutMs: 1000,
      retryShare: 0,
      connections: 1024,
      images: [],
      form: 'json',
      sloP99Ms: undefined,
      apiKey: undefined,
      json: undefined,
    });
    expect(parse().url.href).toBe('http://127.0.0.1:8000/predict');
    expect(parse('--rate', '50')).toMatchObject({ rates: [50], seconds: 10 });
    expect(parse('--rates', '1,2.5,30')).toMatchObject({ rates: [1, 2.5, 30] });
  });

  it.each([
    [['http://host:1234'], 'http://host:1234/predict'],
    [['localhost:9000/'], 'http://localhost:9000/predict'],
    [['https://host/vision/'], 'https://host/vision/predict'],
    [
      ['http://host/predict?confidence_threshold=0.2'],
      'http://host/predict?confidence_threshold=0.2',
    ],
    [['http://host', '--model', 'a b'], 'http://host/models/a%20b/predict'],
    [['http://[::1]:8000'], 'http://[::1]:8000/predict'],
  ])('%j means %s', (args, url) => {
    expect(parse(...args).url.href).toBe(url);
  });

  it.each([
    [['--rate', 'fast'], '--rate must be a number'],
    [['--rate', '0'], '--rate must be a number'],
    [['--rates', '1,,2'], '--rates must be a number'],
    [['--rate', '1', '--rates', '2'], 'one of --rate, --rates and --find-capacity'],
    [['--rate', '1', '--find-capacity'], 'one of --rate, --rates and --find-capacity'],
    [['--rate', '1', '--slo-p99-ms', '5'], '--slo-p99-ms is for --find-capacity'],
    [['--form', 'xml'], '--form must be json or raw'],
    [['--arrivals', 'late'], '--arrivals must be poisson or steady'],
    [['--retry-share', '2'], '--retry-share must be a number from 0 to 1'],
    [['--seed', '0.5'], '--seed must be a whole number'],
    [['--sedd', '1'], 'did you mean --seed?'],
    [['--api-key', 'a\r\nb: c'], '--api-key has characters'],
    [['ftp://host'], 'is not a URL'],
    [['http://'], 'is not a URL'],
    [['one', 'two'], 'give one URL'],
  ])('%j is refused', (args, message) => {
    expect(() => parseBenchArgs(args)).toThrow(ConfigError);
    expect(() => parseBenchArgs(args)).toThrow(message);
  });

  it('are all in the help, which is asked for with --help', () => {
    expect(parseBenchArgs(['--rate', '5', '--help'])).toBe('help');
    const listed = [...BENCH_HELP.matchAll(/^ {2}--([\w-]+)/gm)].map(([, flag]) => flag);
    for (const flag of listed) {
      expect(() => parseBenchArgs([`--${String(flag)}`, 'x'])).not.toThrow('Unknown option');
    }
    expect(listed).toHaveLength(16);
  });
});
