import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface MemberOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Says that it is up. */
  readonly ready: RegExp;
}

/** A process that is killed and started again, in a group with everything that it starts. */
export class Member {
  readonly options: MemberOptions;
  #child: ChildProcess | undefined;
  #up: Promise<boolean> = Promise.resolve(false);
  #exit: Promise<void> = Promise.resolve();
  /** Groups whose leader has died. */
  readonly pastGroups: { readonly group: number; readonly at: number }[] = [];
  /** When it ended without having been asked to. */
  readonly deaths: number[] = [];
  /** What it complained about, and how often. */
  readonly complaints = new Map<string, number>();
  /** In ms since 1970. */
  startedAt = 0;
  wasUp = false;
  #lastLines: string[] = [];
  #isAsked = false;
  #exitCode: number | null = null;

  constructor(options: MemberOptions) {
    this.options = options;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Resolves when it is up, with false when it ended before. */
  get up(): Promise<boolean> {
    return this.#up;
  }

  get exit(): Promise<void> {
    return this.#exit;
  }

  /** Of the last one; `null` when it was killed. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** The end of its log. */
  get lastLines(): readonly string[] {
    return this.#lastLines;
  }

  start(environment: Readonly<Record<string, string>> = {}): void {
    const { command, args, ready } = this.options;
    const child = spawn(command, args, {
      env: { ...process.env, ...this.options.environment, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child = child;
    this.#isAsked = false;
    this.startedAt = Date.now();
    this.wasUp = false;
    this.#lastLines = [];
    this.#exit = new Promise((resolve) => {
      child.once('exit', (code) => {
        this.#child = undefined;
        this.#exitCode = code;
        this.pastGroups.push({ group: child.pid as number, at: performance.now() });
        if (!this.#isAsked) this.deaths.push(Date.now());
        resolve();
      });
    });
    this.#up = new Promise((resolve) => {
      void this.#exit.then(() => {
        resolve(false);
      });
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          if (ready.test(line)) {
            this.wasUp = true;
            resolve(true);
          }
          this.#note(line);
        });
      }
    });
  }

  /** Without a warning. Alone, it leaves its children to find out by themselves. */
  kill(who: 'group' | 'leader'): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(who === 'group' ? -pid : pid, 'SIGKILL');
    } catch (error) {
      // It may have died by itself in this very moment.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  async stop(): Promise<void> {
    this.#isAsked = true;
    this.#child?.kill('SIGTERM');
    await this.#exit;
  }

  #note(line: string): void {
    this.#lastLines = [...this.#lastLines.slice(-19), line];
    const complaint = /"level":"(?:error|fatal)".*"msg":"([^"]*)"/.exec(line)?.[1];
    if (complaint === undefined) return;
    this.complaints.set(complaint, (this.complaints.get(complaint) ?? 0) + 1);
  }
}

/** What is left of these process groups. */
export function survivorsOf(groups: readonly number[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const text = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
        const [state, , group] = text.slice(text.lastIndexOf(')') + 2).split(' ');
        return state !== 'Z' && groups.includes(Number(group));
      } catch {
        return false;
      }
    });
}
