import type { LineEvents } from '../../src/gpu/line-process.js';
import type { GpuReading } from '../../src/gpu/memory-reading.js';
import type { SourceHost } from '../../src/gpu/memory-sources.js';
import type { Log } from '../../src/telemetry/log.js';

/** A tool that was started; the test speaks for it. */
export class FakeTool {
  readonly args: readonly string[];
  readonly #events: LineEvents;
  isStopped = false;
  hasEnded = false;

  constructor(args: readonly string[], events: LineEvents) {
    this.args = args;
    this.#events = events;
  }
  say(line: string): void {
    this.#events.onLine(line);
  }
  end(): void {
    this.hasEnded = true;
    this.#events.onEnd();
  }
  stop(): void {
    this.isStopped = true;
  }
}

/** A machine with GPUs, a clock and tools that a test moves. */
export class FakeGpuHost implements SourceHost {
  time = 1000;
  hasNvidiaTool = true;
  readonly environment = {};
  readonly started: FakeTool[] = [];
  amd: GpuReading[] = [];

  readonly now = (): number => this.time;
  readonly readAmd = (): Promise<GpuReading[]> => Promise.resolve(this.amd);
  readonly start = (args: readonly string[], events: LineEvents): FakeTool => {
    const tool = new FakeTool(args, events);
    this.started.push(tool);
    return tool;
  };

  /** The newest that tells about GPUs (or processes). */
  tool(kind: 'gpu' | 'compute-apps' = 'gpu'): FakeTool {
    const found = this.started.filter(({ args }) => args[0]?.startsWith(`--query-${kind}=`));
    const last = found.at(-1);
    if (last === undefined) throw new Error(`nothing was started for ${kind}`);
    return last;
  }
}

/** Remembers its lines. */
export class FakeLog implements Log {
  readonly lines: { level: string; fields: Record<string, unknown>; msg: string }[] = [];
  readonly error = this.#writer('error');
  readonly warn = this.#writer('warn');
  readonly info = this.#writer('info');
  readonly debug = this.#writer('debug');

  get messages(): string[] {
    return this.lines.map(({ level, msg }) => `${level}: ${msg}`);
  }

  #writer(level: string): Log['info'] {
    return (fields: unknown, msg?: string) => {
      const [data, text] = typeof fields === 'string' ? [{}, fields] : [fields, msg ?? ''];
      this.lines.push({ level, fields: data as Record<string, unknown>, msg: text });
    };
  }
}
