import { describe, expect, it } from 'vitest';
import { NOT_OF_WORKERS, serveHelp, workerHelp } from '../../src/cli/help.js';
import { parseServeArgs } from '../../src/cli/serve.js';
import { ConfigError } from '../../src/config/load.js';

const serve = (...args: string[]): unknown => parseServeArgs(args);
const worker = (...args: string[]): unknown => parseServeArgs(args, 'shoal worker', NOT_OF_WORKERS);

describe('the flags of serve and worker', () => {
  it('are settings', () => {
    expect(serve('--port', '9000', '--no-worker', 'models')).toEqual({
      flags: { port: '9000', worker: false },
      file: undefined,
      path: 'models',
    });
  });

  it.each<[string, () => unknown, string]>([
    ['a misspelt one', () => serve('--prot', '1'), 'did you mean --port?; shoal serve --help'],
    ['a misspelt one of a worker', () => worker('--prot'), 'shoal worker --help lists all'],
    [
      'one of the file',
      () => serve('--models', 'x'),
      'in the config file only, there is no --models',
    ],
    ['another of the file', () => worker('--tenants=x'), 'there is no --tenants'],
    ['a worker that does not work', () => worker('--no-worker'), "Unknown option '--no-worker'"],
    ['two models', () => worker('a', 'b'), 'see shoal worker --help'],
  ])('refuse %s', (_, parse, message) => {
    expect(parse).toThrow(ConfigError);
    expect(parse).toThrow(message);
  });

  it('have no hint when only the value is missing', () => {
    expect(() => serve('--port')).toThrow(/'--port <value>' argument missing; shoal serve --help/);
  });
});

describe('help', () => {
  it('says of a switch that is on what turning it off does', () => {
    expect(serveHelp()).toContain('--no-worker\n      Only take jobs in this server');
    expect(serveHelp()).toContain('--insecure\n      Listen on a non-loopback address');
  });

  it('lists for workers only what they have', () => {
    expect(workerHelp()).not.toMatch(/^ {2}--no-worker/m);
    expect(workerHelp()).toMatch(/^ {2}--queue <text>/m);
  });
});
