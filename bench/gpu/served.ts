import { compare } from './compare.js';
import { type Context, forEach } from './context.js';
import { Bout, ensureProfile, rowLine } from './serve.js';

const FORMS = ['raw', 'json'] as const;

/** The server as it comes, on every device, by the number of clients. */
export async function measureServed(context: Context): Promise<void> {
  const { options, results, save, tell } = context;
  await forEach(context, 'served', options.devices, String, async (device) => {
    await ensureProfile(context, device);
    const most = Math.max(...options.concurrency);
    const bout = await Bout.start(context, device, '', FORMS, most);
    await bout.warmUp(most);
    results.models[device] = await bout.server.fetchJson('/models');
    for (const form of FORMS) {
      for (const concurrency of options.concurrency) {
        const load = { form, concurrency, seconds: options.seconds.served };
        const row = await bout.measure(load);
        results.served.push(row);
        tell(`  ${device}: ${rowLine(row)}`);
        save();
      }
    }
    await bout.stop();
  });
}

/** What batching brings: the same server with and without. */
export async function measureBatch1(context: Context): Promise<void> {
  await compare(context, 'batch1', () => ['', '--max-batch 1 --profile off']);
}

/** Plans by hand, and the automatic one. */
export async function measureSweep(context: Context): Promise<void> {
  const { options } = context;
  await compare(context, 'sweep', (device) => {
    const usual = GRIDS[options.quick ? 'quick' : device] ?? GRIDS['other'];
    const sessions = options.sweepSessions ?? usual?.sessions ?? [];
    const batches = options.sweepBatches ?? usual?.batches ?? [];
    const grid = sessions.flatMap((one) =>
      batches.map(
        (batch) => `--sessions ${String(one)} --max-batch ${String(batch)} --profile off`,
      ),
    );
    return ['', ...grid];
  });
}

interface Grid {
  readonly sessions: readonly number[];
  readonly batches: readonly number[];
}
const GRIDS: Readonly<Record<string, Grid>> = {
  cuda: { sessions: [1, 2], batches: [8, 32, 64] },
  cpu: { sessions: [1, 2, 4], batches: [1, 4, 8] },
  other: { sessions: [1], batches: [4, 8, 16, 32] },
  quick: { sessions: [1, 2], batches: [4] },
};

/** What single decisions of the design are worth, where a flag can undo them. */
export async function measureSteps(context: Context): Promise<void> {
  const all = [
    '',
    '--http-workers 1',
    '--http-workers 2',
    '--http-workers 4',
    '--max-batch 8',
    '--max-batch 32',
    '--sessions 1',
    '--sessions 2',
    '--batching fixed',
    '--precision fp32',
    '--precision fp16',
  ];
  const few = ['', '--http-workers 2', '--precision fp32', '--precision fp16'];
  await compare(context, 'steps', () => (context.options.quick ? few : all));
}
