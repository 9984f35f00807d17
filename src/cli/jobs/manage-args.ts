import { ConfigError } from '../../config/load.js';
import { FINAL_STATES, type FinalState, JOB_STATES, type JobState } from '../../jobs/job.js';
import { choice, integer } from '../arguments.js';
import type { Connection } from './client.js';
import { connectionOf, jobIds, milliseconds, parseFor } from './common-args.js';

export interface ListArgs {
  readonly connection: Connection;
  readonly state: JobState | undefined;
  /** Infinity for all. */
  readonly limit: number;
  readonly isJson: boolean;
}

const STRING = { type: 'string' } as const;
const BOOLEAN = { type: 'boolean' } as const;

/** All of these throw a ConfigError that names the flag. */
export function parseListArgs(args: string[]): ListArgs | 'help' {
  const options = { state: STRING, limit: STRING, all: BOOLEAN, json: BOOLEAN };
  const { values, positionals } = parseFor('list', options, args);
  if (values.help === true) return 'help';
  if (positionals.length > 0) {
    throw new ConfigError('list takes no ids; shoal jobs show has one job');
  }
  if (values.all === true && values.limit !== undefined) {
    throw new ConfigError('give one of --limit and --all');
  }
  return {
    connection: connectionOf(values),
    state: values.state === undefined ? undefined : choice('state', values.state, JOB_STATES),
    limit: values.all === true ? Infinity : integer('limit', values.limit ?? '20', 1, 10_000_000),
    isJson: values.json === true,
  };
}

export interface ShowArgs {
  readonly connection: Connection;
  readonly ids: readonly string[];
  readonly isJson: boolean;
}

export function parseShowArgs(args: string[]): ShowArgs | 'help' {
  const { values, positionals } = parseFor('show', { json: BOOLEAN }, args);
  if (values.help === true) return 'help';
  const ids = someIds('show', positionals);
  return { connection: connectionOf(values), ids, isJson: values.json === true };
}

export interface WaitArgs extends ShowArgs {
  readonly patienceMs: number;
}

export function parseWaitArgs(args: string[]): WaitArgs | 'help' {
  const options = { json: BOOLEAN, patience: { type: 'string', default: '60' } } as const;
  const { values, positionals } = parseFor('wait', options, args);
  if (values.help === true) return 'help';
  return {
    connection: connectionOf(values),
    ids: someIds('wait', positionals),
    isJson: values.json === true,
    patienceMs: milliseconds('patience', values.patience, 0),
  };
}

export interface ChangeArgs {
  readonly connection: Connection;
  /** By id, or all that are in a state. */
  readonly jobs: readonly string[] | JobState;
}

export function parseChangeArgs(
  command: 'cancel' | 'retry',
  states: readonly JobState[],
  args: string[],
): ChangeArgs | 'help' {
  const { values, positionals } = parseFor(command, { state: STRING }, args);
  if (values.help === true) return 'help';
  const connection = connectionOf(values);
  if (values.state === undefined) {
    return { connection, jobs: someIds(command, positionals, ' or --state') };
  }
  if (positionals.length > 0) throw new ConfigError('give ids or --state, not both');
  return { connection, jobs: choice('state', values.state, states) };
}

export interface PurgeArgs {
  readonly connection: Connection;
  readonly states: readonly FinalState[];
  readonly isSure: boolean;
}

export function parsePurgeArgs(args: string[]): PurgeArgs | 'help' {
  const { values, positionals } = parseFor('purge', { state: STRING, yes: BOOLEAN }, args);
  if (values.help === true) return 'help';
  if (positionals.length > 0) throw new ConfigError('purge takes no ids but --state');
  const states = values.state?.split(',').map((state) => choice('state', state, FINAL_STATES));
  return {
    connection: connectionOf(values),
    states: [...new Set(states ?? FINAL_STATES)],
    isSure: values.yes === true,
  };
}

function someIds(command: string, ids: readonly string[], more = ''): readonly string[] {
  if (ids.length > 0) return jobIds(ids);
  throw new ConfigError(`shoal jobs ${command} needs the id of a job${more}`);
}
