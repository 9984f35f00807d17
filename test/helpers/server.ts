import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface LogLine {
  readonly msg: string;
  readonly level: string;
  readonly [key: string]: unknown;
}

/** The built server as a real process on a free port, with its log. */
export class TestServer {
  readonly url: string;
  readonly lines: LogLine[];
  readonly #child: ChildProcess;
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;

  private constructor(
    url: string,
    child: ChildProcess,
    lines: LogLine[],
    exit: TestServer['exit'],
  ) {
    this.url = url;
    this.#child = child;
    this.lines = lines;
    this.exit = exit;
  }

  static async start(
    args: readonly string[] = [],
    environment: Record<string, string> = {},
    command = 'serve',
  ): Promise<TestServer> {
    const child = runCli([command, '--port', '0', '--log-format', 'json', ...args], environment);
    const lines: LogLine[] = [];
    const exit: TestServer['exit'] = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        resolve({ code, signal });
      });
    });
    let errors = '';
    child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    const url = await new Promise<string>((resolve, reject) => {
      void exit.then(({ code }) => {
        reject(new Error(`the server ended with ${String(code)}: ${errors}`));
      });
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (text) => {
        const line = JSON.parse(text) as LogLine;
        lines.push(line);
        if (line.msg === 'listening') resolve(line['url'] as string);
      });
    });
    return new TestServer(url, child, lines, exit);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  enginePids(): number[] {
    return enginesOf(this.pid);
  }

  /** The processes that receive requests, where those are others than the server process. */
  frontPids(): number[] {
    return childrenOf(this.pid).filter((pid) => commandOf(pid).includes('front/main'));
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  post(
    path: string,
    body: Buffer | string,
    headers: Record<string, string> = { 'content-type': 'image/png' },
    signal?: AbortSignal,
  ): Promise<Response> {
    const init = { method: 'POST', headers, body: body as unknown as string };
    return fetch(this.url + path, signal === undefined ? init : { ...init, signal });
  }

  async json<T>(path: string): Promise<T> {
    return (await fetch(this.url + path)).json() as Promise<T>;
  }

  /** The value of one series, or 0 when there is none yet. */
  async metric(series: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const line = text.split('\n').find((one) => one.startsWith(`${series} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exit;
  }
}

/** Measuring takes a second, and slow test machines would be refused; only some tests are about it. */
const CALM = { SHOAL_PROFILE: 'off', SHOAL_MAX_WAIT_MS: '600000' };

export function runCli(
  args: readonly string[],
  environment: Record<string, string> = {},
): ChildProcess {
  return spawn(process.execPath, ['dist/cli/main.js', ...args], {
    env: { ...process.env, NODE_ENV: 'test', ...CALM, ...freshFolder(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

const folders: string[] = [];
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Every server has jobs of its own; what is left of them goes with this process. */
function freshFolder(): Record<string, string> {
  const folder = join(tmpdir(), `shoal-data-${randomUUID()}`);
  folders.push(folder);
  return { SHOAL_DATA_DIR: folder };
}

/** Runs a command to its end. */
export async function runToEnd(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = runCli(args, environment);
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  return { code, stdout, stderr };
}

export function childrenOf(pid: number): number[] {
  const tasks = `/proc/${String(pid)}/task/${String(pid)}/children`;
  return readFileSync(tasks, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

export function enginesOf(pid: number): number[] {
  return childrenOf(pid).filter((child) => commandOf(child).includes('engine-process'));
}

/** Empty for a process that is gone. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${String(pid)}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** The size of the batch that a request rode in. */
export function batchSizeOf(answer: Response): number {
  return Number(/batch;desc="(\d+)"/.exec(answer.headers.get('server-timing') ?? '')?.[1]);
}

/** A folder with stub models; `options` say how each behaves. */
export function stubModels(models: Record<string, Record<string, unknown>>): string {
  const root = mkdtempSync(join(tmpdir(), 'shoal-stub-'));
  for (const [name, options] of Object.entries(models)) {
    mkdirSync(join(root, name));
    const manifest = {
      head: 'ssd',
      runtime: 'stub',
      input: { width: 8, height: 8 },
      labels: ['thing'],
    };
    writeFileSync(join(root, name, 'shoal.json'), JSON.stringify(manifest));
    writeFileSync(join(root, name, 'model.onnx'), JSON.stringify(options));
  }
  return root;
}

/** Waits for a condition; the test's own time-out is the limit. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

export function isAlive(pid: number): boolean {
  try {
    // A zombie is dead, but still has a process entry.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${String(pid)}/status`, 'utf8'));
  } catch {
    return false;
  }
}
