import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { DeviceName } from '../config/devices.js';
import { readEnvironment } from '../config/environment.js';
import { ConfigError } from '../config/load.js';
import type { PlanFacts } from './candidate.js';
import type { Children } from './children.js';
import { memoryOf } from './memory.js';

const ENTRY = fileURLToPath(new URL('../cli/main.js', import.meta.url));
/** After the load there is nothing to finish; a server that hangs must not hold up the search. */
const PATIENCE_MS = 5000;
const USAGE_EXIT_CODE = 2;

export interface CandidateModel {
  readonly name: string;
  readonly plan: PlanFacts;
  readonly device: DeviceName;
}

/** The real server, as a process of its own on a free port. */
export class CandidateServer {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  /** @throws what the server says when it does not start; ConfigError when it was asked wrongly */
  static async start(args: readonly string[], children: Children): Promise<CandidateServer> {
    const child = spawn(
      process.execPath,
      [ENTRY, 'serve', '--port', '0', '--log-format', 'json', '--queue', 'off', ...args],
      { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] },
    );
    children.add(child);
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString()).slice(-2000);
    });
    const url = await new Promise<string>((resolve, reject) => {
      child.once('error', reject).once('close', (code) => {
        const said = complaint.trim().split('\n').at(-1) ?? '';
        const message = said === '' ? `the server ended with code ${String(code)}` : said;
        const plain = message.replace(/^shoal: /, '');
        reject(code === USAGE_EXIT_CODE ? new ConfigError(plain) : new Error(plain));
      });
      const lines = createInterface({ input: child.stdout }).on('line', (line) => {
        const { msg, url: where } = JSON.parse(line) as { msg: string; url?: string };
        if (msg !== 'listening' || where === undefined) return;
        resolve(where);
        lines.close();
        // Read on, or the server would block when the pipe is full.
        child.stdout.resume();
      });
    });
    return new CandidateServer(url, child);
  }

  /** The models it serves, with their plans. */
  async models(): Promise<readonly CandidateModel[]> {
    const answer = await fetch(`${this.url}/models`);
    const { models } = (await answer.json()) as { models: readonly CandidateModel[] };
    return models;
  }

  memoryBytes(): number | null {
    return this.#child.pid === undefined ? null : memoryOf(this.#child.pid);
  }

  /** Resolves when it is gone, so that the next one has the machine to itself. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), PATIENCE_MS);
    await exit;
    clearTimeout(timer);
  }
}

/** Settings from outside would make the candidates others than they are called. */
function environment(): NodeJS.ProcessEnv {
  const all = Object.entries(readEnvironment());
  return Object.fromEntries(all.filter(([name]) => !name.startsWith('SHOAL_')));
}
