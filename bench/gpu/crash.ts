import { setTimeout as sleep } from 'node:timers/promises';
import { LoadProcess } from '../load-process.js';
import { descendantsOf, roleOf } from '../processes.js';
import type { BenchServer } from '../server.js';
import { type Context, forEach, mainDevices } from './context.js';
import { mergeRuns, TIMEOUT_MS } from './load-group.js';
import type { CrashRow } from './results.js';
import { serveOn } from './serve.js';

const KILLS = 3;
const JOB = { kind: 'closed', concurrency: 32, timeoutMs: TIMEOUT_MS } as const;
const POLL_MS = 20;
const WARM_UP_SECONDS = 2;

/** Engines die under load; nobody should notice but for a while without answers. */
export async function measureCrashes(context: Context): Promise<void> {
  const { images, options, results, tell } = context;
  await forEach(context, 'crash', mainDevices(options), String, async (device) => {
    const server = await serveOn(context, device);
    const url = `http://127.0.0.1:${String(server.port)}`;
    const load = await LoadProcess.start({ url, form: 'raw', images });
    context.children.add(load.child);
    await load.run({ ...JOB, seconds: WARM_UP_SECONDS });

    const seconds = options.seconds.crash;
    const started = performance.now();
    const running = load.run({ ...JOB, seconds });
    const killedMs: number[] = [];
    // It is looked at after the last kill; until then its failure is nobody's.
    running.catch(() => undefined);
    for (let kill = 1; kill <= KILLS; kill++) {
      const due = (seconds * 1000 * kill) / (KILLS + 1);
      await sleep(Math.max(0, started + due - performance.now()));
      killedMs.push(performance.now() - started);
      await killEngine(server);
    }
    const { run } = await running;
    for (const row of crashRows(run.okAtMs, killedMs, seconds * 1000)) {
      results.crash.push({ device, ...row });
    }
    const { ok, refused, failed, errors } = mergeRuns([run]);
    results.crashLoads.push({ device, ok, refused, failed, errors });
    tell(`  ${device}: ${String(failed)} of ${String(ok + failed)} failed`);
    load.stop();
    await server.stop();
  });
}

function engineOf(server: BenchServer): number | undefined {
  return descendantsOf(server.httpPid).find((pid) => roleOf(pid) === 'engine');
}

/** Kills the engine and waits until there is another one. */
async function killEngine(server: BenchServer): Promise<void> {
  const old = engineOf(server);
  if (old === undefined) throw new Error('there is no engine to kill');
  process.kill(old, 'SIGSEGV');
  while ((engineOf(server) ?? old) === old) await sleep(POLL_MS);
}

/**
 * What clients saw of each kill: the longest silence between it and the next one, and when that
 * ended. Answers that were on their way may still come in between.
 */
export function crashRows(
  okAtMs: ArrayLike<number>,
  killedMs: readonly number[],
  endMs: number,
): Omit<CrashRow, 'device'>[] {
  const all = Array.from(okAtMs).sort((a, b) => a - b);
  return killedMs.map((at, index) => {
    const until = killedMs[index + 1] ?? endMs;
    const answers = all.filter((time) => time >= at && time <= until);
    const gaps = [...answers, until].map((time, position) => {
      const from = position === 0 ? at : (answers[position - 1] ?? at);
      return { from, to: time, ms: time - from };
    });
    const longest = gaps.reduce((worst, gap) => (gap.ms > worst.ms ? gap : worst));
    const isAnswered = answers.includes(longest.to);
    return {
      kill: index + 1,
      silenceMs: longest.ms,
      servingAfterMs: isAnswered ? longest.to - at : null,
    };
  });
}
