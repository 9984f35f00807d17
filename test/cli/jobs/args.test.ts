import { describe, expect, it } from 'vitest';
import { JOBS_HELP, SUBMIT_HELP } from '../../../src/cli/jobs/help.js';
import {
  parseChangeArgs,
  parseListArgs,
  parsePurgeArgs,
  parseShowArgs,
  parseWaitArgs,
} from '../../../src/cli/jobs/manage-args.js';
import { parseSubmitArgs, type SubmitArgs } from '../../../src/cli/jobs/submit-args.js';
import { ConfigError } from '../../../src/config/load.js';
import { newJobId } from '../../../src/jobs/job.js';

const submit = (...args: string[]): SubmitArgs => parseSubmitArgs(args) as SubmitArgs;
const retry = (args: string[]) => parseChangeArgs('retry', ['failed'], args);
const ID = newJobId();

describe('the arguments of shoal jobs', () => {
  it('have defaults', () => {
    expect(parseListArgs([])).toMatchObject({ limit: 20, state: undefined, isJson: false });
    expect(parsePurgeArgs([])).toMatchObject({
      states: ['completed', 'failed', 'cancelled', 'expired'],
      isSure: false,
    });
    expect(parseWaitArgs([ID])).toMatchObject({ ids: [ID], patienceMs: 60_000 });
    expect(submit('photos')).toMatchObject({
      paths: ['photos'],
      fields: {},
      imagesPerJob: 1,
      concurrency: 8,
      isWaiting: false,
      out: '-',
      patienceMs: 60_000,
      resumeKey: undefined,
    });
    const { url, apiKey, timeoutMs } = submit('photos').connection;
    expect([url.href, apiKey, timeoutMs]).toEqual(['http://127.0.0.1:8000/', undefined, 30_000]);
  });

  it('say where the server is', () => {
    const args = submit('a', '--url', 'host:1/below', '--api-key', 'k', '--timeout', '0.5');
    expect(args.connection.url.href).toBe('http://host:1/below');
    expect(args.connection).toMatchObject({ apiKey: 'k', timeoutMs: 500 });
  });

  it('become the fields of a job', () => {
    const { fields } = submit(
      ...['a', '--model', 'm', '--threshold', '.25', '--priority', 'low'],
      ...['--expires-in', '60', '--webhook-url', 'https://example.com/hook'],
    );
    expect(fields).toEqual({
      model: 'm',
      confidence_threshold: '0.25',
      priority: 'low',
      expires_in: '60',
      webhook_url: 'https://example.com/hook',
    });
  });

  it('choose jobs by id or by state', () => {
    expect(retry([ID])).toMatchObject({ jobs: [ID] });
    expect(retry(['--state', 'failed'])).toMatchObject({ jobs: 'failed' });
    expect(parseListArgs(['--all', '--state', 'queued'])).toMatchObject({
      limit: Infinity,
      state: 'queued',
    });
    expect(parsePurgeArgs(['--state', 'failed,expired,failed', '--yes'])).toMatchObject({
      states: ['failed', 'expired'],
      isSure: true,
    });
  });

  it.each([
    [parseSubmitArgs, [], 'needs images or folders'],
    [parseSubmitArgs, ['a', '--images-per-job', '0'], '--images-per-job must be a number from 1'],
    [parseSubmitArgs, ['a', '--threshold', '2'], '--threshold must be a number from 0 to 1'],
    [parseSubmitArgs, ['a', '--priority', 'top'], '--priority must be high or normal or low'],
    [parseSubmitArgs, ['a', '--expires-in', '1.5'], '--expires-in must be a whole number'],
    [parseSubmitArgs, ['a', '--resume-key', 'a b'], '--resume-key must be 1 to 128 visible'],
    [parseSubmitArgs, ['a', '--resume-key', 'x'.repeat(129)], '--resume-key must be'],
    [parseSubmitArgs, ['a', '--api-key', 'a\nb'], '--api-key has characters'],
    [parseSubmitArgs, ['a', '--url', 'ftp://x'], 'is not a URL'],
    [parseSubmitArgs, ['a', '--treshold', '1'], 'did you mean --threshold?'],
    [parseSubmitArgs, ['a', '--timeot', '1'], 'did you mean --timeout?; shoal jobs submit --help'],
    [parseListArgs, ['--state', 'done'], '--state must be queued or running'],
    [parseListArgs, ['--all', '--limit', '5'], 'one of --limit and --all'],
    [parseListArgs, [ID], 'list takes no ids'],
    [parseShowArgs, [], 'needs the id of a job'],
    [parseShowArgs, ['..'], '".." is not the id of a job'],
    [retry, [], 'needs the id of a job or --state'],
    [retry, [ID, '--state', 'failed'], 'ids or --state'],
    [retry, ['--state', 'completed'], '--state must be failed'],
    [parsePurgeArgs, ['--state', 'completed,queued'], '--state must be completed or failed'],
    [parsePurgeArgs, [ID], 'purge takes no ids'],
  ])('%o refuses %j', (parse, args, message) => {
    expect(() => parse(args)).toThrow(ConfigError);
    expect(() => parse(args)).toThrow(message);
  });

  it.each([
    [SUBMIT_HELP, [parseSubmitArgs], 15],
    [JOBS_HELP, [parseListArgs, parseShowArgs, parseWaitArgs, retry, parsePurgeArgs], 12],
  ])('are all in the help, which is asked for with --help', (help, parsers, flags) => {
    for (const parse of parsers) expect(parse(['--help'])).toBe('help');
    const listed = [...help.matchAll(/^ {2}--([\w-]+)/gm)].map(([, flag]) => String(flag));
    expect(listed).toHaveLength(flags);
    for (const flag of listed) {
      const takers = parsers.filter((parse) => isTaken(() => parse([`--${flag}`, 'x'])));
      expect(takers, flag).not.toEqual([]);
    }
  });

  function isTaken(parse: () => unknown): boolean {
    try {
      parse();
    } catch (error) {
      return !(error as Error).message.includes('Unknown option');
    }
    return true;
  }
});
