import { ConfigError } from '../../config/load.js';
import { JOB_PRIORITIES } from '../../jobs/job.js';
import { choice, integer, number } from '../arguments.js';
import type { Connection } from './client.js';
import { connectionOf, milliseconds, parseFor } from './common-args.js';

export interface SubmitArgs {
  readonly connection: Connection;
  readonly paths: readonly string[];
  /** What is said about every job, as form fields. */
  readonly fields: Readonly<Record<string, string>>;
  readonly imagesPerJob: number;
  readonly concurrency: number;
  readonly isWaiting: boolean;
  /** A file, or - for standard output. */
  readonly out: string;
  readonly patienceMs: number;
  readonly resumeKey: string | undefined;
}

const OPTIONS = {
  wait: { type: 'boolean' },
  out: { type: 'string', default: '-' },
  'images-per-job': { type: 'string', default: '1' },
  model: { type: 'string' },
  threshold: { type: 'string' },
  priority: { type: 'string' },
  'expires-in': { type: 'string' },
  'webhook-url': { type: 'string' },
  concurrency: { type: 'string', default: '8' },
  patience: { type: 'string', default: '60' },
  'resume-key': { type: 'string' },
} as const;

/** Longer ones would leave no room for the digest. */
const MAX_RESUME_KEY = 128;
const LONGEST_EXPIRY_S = 30 * 86_400;

/** @throws ConfigError that names the flag */
export function parseSubmitArgs(args: string[]): SubmitArgs | 'help' {
  const { values, positionals } = parseFor('submit', OPTIONS, args);
  if (values.help === true) return 'help';
  if (positionals.length === 0) {
    throw new ConfigError('shoal jobs submit needs images or folders of them');
  }
  const { model, threshold, priority } = values;
  const expiresIn = values['expires-in'];
  const webhook = values['webhook-url'];
  return {
    connection: connectionOf(values),
    paths: positionals,
    fields: {
      ...(model !== undefined && { model }),
      ...(threshold !== undefined && {
        confidence_threshold: String(number('threshold', threshold, 0, 1)),
      }),
      ...(priority !== undefined && { priority: choice('priority', priority, JOB_PRIORITIES) }),
      ...(expiresIn !== undefined && {
        expires_in: String(integer('expires-in', expiresIn, 1, LONGEST_EXPIRY_S)),
      }),
      ...(webhook !== undefined && { webhook_url: webhook }),
    },
    imagesPerJob: integer('images-per-job', values['images-per-job'], 1, 1000),
    concurrency: integer('concurrency', values.concurrency, 1, 256),
    isWaiting: values.wait === true,
    out: values.out,
    patienceMs: milliseconds('patience', values.patience, 0),
    resumeKey: resumeKeyOf(values['resume-key']),
  };
}

function resumeKeyOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(text) || text.length > MAX_RESUME_KEY) {
    throw new ConfigError(
      `--resume-key must be 1 to ${String(MAX_RESUME_KEY)} visible characters without spaces`,
    );
  }
  return text;
}
