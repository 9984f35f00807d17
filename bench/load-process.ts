/**
 * The load generator in a process of its own, driven by messages: it must not share a thread with
 * whoever watches the server.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LoadRun } from '../src/load/load-result.js';
import type { Form } from '../src/load/prepared-request.js';
import { endWithThis } from './end-with-this.js';

export interface LoadTarget {
  readonly url: string;
  readonly form: Form;
  readonly images: readonly Uint8Array[];
  readonly apiKey?: string;
}

export interface ClosedJob {
  readonly kind: 'closed';
  readonly concurrency: number;
  readonly seconds: number;
  readonly timeoutMs?: number;
}

export interface OpenJob {
  readonly kind: 'open';
  readonly rate: number;
  readonly seconds: number;
  readonly timeoutMs: number;
  readonly retryShare: number;
  /** Loads that run side by side need different ones, or their clumps come together. */
  readonly seed?: number;
  /** Lone requests for so long, from the moment the last one of the load is sent. */
  readonly loneSeconds?: number;
}

export interface LoadReply {
  readonly run: LoadRun;
  readonly lone?: LoadRun;
}

/** The side that gives the orders. */
export class LoadProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(target: LoadTarget): Promise<LoadProcess> {
    const child = fork(fileURLToPath(import.meta.url), ['load-process'], {
      // As it is here, or built where there are no tools.
      execArgv: import.meta.url.endsWith('.ts') ? ['--import', 'tsx'] : [],
      serialization: 'advanced',
    });
    endWithThis(child);
    // Nobody may be waiting when it ends.
    child.on('error', () => undefined);
    // Whoever waits for an answer then learns that there will be none.
    child.once('exit', (code) => {
      child.emit('error', new Error(`the load generator ended with code ${String(code)}`));
    });
    const load = new LoadProcess(child);
    await load.#ask(target);
    return load;
  }

  get child(): ChildProcess {
    return this.#child;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  run(job: ClosedJob | OpenJob): Promise<LoadReply> {
    return this.#ask(job) as Promise<LoadReply>;
  }

  stop(): void {
    this.#child.removeAllListeners('exit').kill();
  }

  async #ask(message: LoadTarget | ClosedJob | OpenJob): Promise<unknown> {
    this.#child.send(message);
    const [reply] = (await once(this.#child, 'message')) as [unknown];
    return reply;
  }
}

// The built code, as users run it: what a transpiler adds would cost the server its cores.
const built = async <T>(name: string): Promise<T> =>
  (await import(new URL(`../dist/load/${name}.js`, import.meta.url).href)) as T;
type OpenLoop = typeof import('../src/load/open-loop.js');
type Fixed = Pick<Parameters<OpenLoop['runOpenLoop']>[0], 'target' | 'requests'>;

async function prepare({ url, form, images, apiKey }: LoadTarget): Promise<Fixed> {
  const { locate } = await built<typeof import('../src/load/target.js')>('target');
  const { PreparedRequest } =
    await built<typeof import('../src/load/prepared-request.js')>('prepared-request');
  const target = await locate(new URL(url));
  const shape = { host: target.host, path: '/predict', form, apiKey };
  const [first, ...more] = images.map((image) => new PreparedRequest(Buffer.from(image), shape));
  if (first === undefined) throw new Error('there are no photos');
  return { target, requests: [first, ...more] };
}

async function carryOut(job: ClosedJob | OpenJob, fixed: Fixed): Promise<LoadReply> {
  const { runClosedLoop } = await built<typeof import('../src/load/closed-loop.js')>('closed-loop');
  const { runOpenLoop } = await built<OpenLoop>('open-loop');
  if (job.kind === 'closed') return { run: await runClosedLoop({ ...fixed, ...job }) };
  let lone: Promise<LoadRun> | undefined;
  const run = await runOpenLoop({
    ...fixed,
    ...job,
    onScheduleEnd: () => {
      if (job.loneSeconds === undefined) return;
      lone = runClosedLoop({ ...fixed, concurrency: 1, seconds: job.loneSeconds });
    },
  });
  return lone === undefined ? { run } : { run, lone: await lone };
}

if (process.argv[2] === 'load-process') {
  let fixed: Fixed | undefined;
  process.on('message', (message: LoadTarget | ClosedJob | OpenJob) => {
    void (async () => {
      if ('url' in message) fixed = await prepare(message);
      process.send?.('url' in message ? 'ready' : await carryOut(message, fixed as Fixed));
    })();
  });
}
