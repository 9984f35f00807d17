import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';

/** More lines than are kept and fit into a pipe together. */
const REQUESTS = 12_000;
const SIDE_BY_SIDE = 32;

/** Prints the process that it starts, and what it ended with; a shell makes a real pipe. */
const SHELL = '{ "$@" & echo "$!" >&2; wait "$!"; echo "$?" >&2; } | cat';

interface Unread {
  readonly url: string;
  /** What came through the pipe so far. */
  readonly lines: string[];
  /** What the shell says: the process, and in the end its code. */
  readonly said: string[];
  readonly output: NodeJS.ReadableStream;
}

let shell: ChildProcess | undefined;
let pid: number | undefined;
afterEach(() => {
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
  shell?.stdout?.resume();
  pid = undefined;
});

/** A server whose log can be left unread. */
async function start(workers: number): Promise<Unread> {
  const args = ['serve', '--port', '0', '--log-format', 'json', '--http-workers', String(workers)];
  shell = spawn('sh', ['-c', SHELL, 'sh', process.execPath, 'dist/cli/main.js', ...args], {
    env: { ...process.env, NODE_ENV: 'test', SHOAL_PROFILE: 'off', SHOAL_QUEUE: 'off' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = [shell.stdout as Readable, shell.stderr as Readable];
  const [lines, said] = [[] as string[], [] as string[]];
  createInterface({ input: errors }).on('line', (line) => {
    if (said.push(line) === 1) pid = Number(line);
  });
  const url = await new Promise<string>((resolve) => {
    createInterface({ input: output }).on('line', (line) => {
      lines.push(line);
      const { url: found } = JSON.parse(line) as { url?: string };
      if (found !== undefined) resolve(found);
    });
  });
  return { url, lines, said, output };
}

async function ask(url: string, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: SIDE_BY_SIDE });
  let answered = 0;
  let left = count;
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const asked = request(`${url}/predict`, { agent, method: 'POST' }).end();
      const [response] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
      response.resume();
      await once(response, 'end');
      answered++;
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, client));
  agent.destroy();
  return answered;
}

describe.each([1, 2])('a log that nobody reads, with %i HTTP processes', (workers) => {
  it('does not stop the server, which says later what it has left out', async () => {
    const { url, lines, output } = await start(workers);
    output.pause();
    expect(await ask(url, REQUESTS)).toBe(REQUESTS);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const dropped = Number(/^shoal_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
    expect(dropped).toBeGreaterThan(0);

    output.resume();
    await expect
      .poll(() => lines.filter((text) => text.includes('left out')).length, { timeout: 20_000 })
      .toBe(workers);
    const parsed = lines.map((text) => JSON.parse(text) as { msg: string; dropped?: number });
    const requests = parsed.filter(({ msg }) => msg === 'request').length;
    const told = parsed.reduce((sum, line) => sum + (line.dropped ?? 0), 0);
    expect(requests + told).toBeGreaterThanOrEqual(REQUESTS);
  });

  it('does not keep it from ending', async () => {
    const { url, said, output } = await start(workers);
    output.pause();
    await ask(url, REQUESTS);
    process.kill(pid as number, 'SIGTERM');
    await expect.poll(() => said.length, { timeout: 20_000 }).toBe(2);
    pid = undefined;
    expect(said[1]).toBe('0');
  });
});
