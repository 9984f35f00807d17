import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { endWithThis } from './end-with-this.js';
import { childrenOf, cpuSeconds, descendantsOf, roleOf } from './processes.js';
import { type ProcessTime, readProcess } from './threads.js';

export interface StartOptions {
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Told of the process at once, even if it never serves. */
  readonly onChild?: (child: ChildProcess) => void;
  /** Where what it writes to stderr goes; to ours without it. */
  readonly onError?: (text: string) => void;
}

const STOP_TIMEOUT_MS = 20_000;

/** The built server as its own process, as an operator would run it. */
export class BenchServer {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(
    root: string,
    args: readonly string[],
    { env = {}, onChild, onError }: StartOptions = {},
  ): Promise<BenchServer> {
    const child = spawn(
      process.execPath,
      [
        `${root}/dist/cli/main.js`,
        'serve',
        '--port',
        '0',
        '--log-format',
        'json',
        '--queue',
        'off',
        ...args,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } },
    );
    endWithThis(child);
    onChild?.(child);
    child.stderr.on('data', (chunk: Buffer) => {
      if (onError === undefined) process.stderr.write(chunk);
      else onError(chunk.toString());
    });
    const port = await new Promise<number>((resolve, reject) => {
      child.on('exit', (code) => {
        reject(new Error(`the server ended with code ${String(code)}`));
      });
      const lines = createInterface({ input: child.stdout }).on('line', (line) => {
        const { url, level } = parseLine(line);
        if (level === 'error') onError?.(`${line}\n`);
        if (url === undefined) return;
        resolve(Number(new URL(url).port));
        lines.close();
        child.stdout.resume();
      });
    });
    return new BenchServer(child, port);
  }

  get httpPid(): number {
    return this.#child.pid ?? 0;
  }

  get enginePids(): number[] {
    return childrenOf(this.httpPid);
  }

  cpu(): { http: number; engine: number } {
    const engine = this.enginePids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
    return { http: cpuSeconds(this.httpPid), engine };
  }

  /** What every thread of the server, its engines and its HTTP processes has used. */
  threadTimes(): ProcessTime[] {
    return [
      readProcess(this.httpPid, 'server'),
      ...descendantsOf(this.httpPid).map((pid) => readProcess(pid, roleOf(pid))),
    ];
  }

  memoryBytes(of: (pid: number) => number): number {
    return [this.httpPid, ...this.enginePids].reduce((sum, pid) => sum + of(pid), 0);
  }

  async fetchJson<T>(path: string): Promise<T> {
    return (await (await fetch(`http://127.0.0.1:${String(this.port)}${path}`)).json()) as T;
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${String(this.port)}/metrics`)).text();
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        resolve();
        return;
      }
      const hard = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      this.#child.once('exit', () => {
        clearTimeout(hard);
        resolve();
      });
      this.#child.kill('SIGTERM');
    });
  }
}

/** Libraries may write lines that are no log. */
function parseLine(line: string): { readonly url?: string; readonly level?: string } {
  try {
    return JSON.parse(line) as { url?: string; level?: string };
  } catch {
    return {};
  }
}
