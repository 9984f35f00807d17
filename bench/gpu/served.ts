import type { DeviceName } from '../../src/config/devices.js';
import { type Context, forEach, mainDevices } from './context.js';
import type { PartName } from './options.js';
import type { ServedRow } from './results.js';
import { Bout, rowLine, serveOn } from './serve.js';

const FORMS = ['raw', 'json'] as const;
/** More than any device has in work, so that batches can be as large as they want to be. */
const FULL_LOAD = 384;
const QUICK_FULL_LOAD = 16;

export function fullLoad({ options }: Context): number {
  return options.quick ? QUICK_FULL_LOAD : FULL_LOAD;
}

/** The server as it comes, on every device, by the number of clients. */
export async function measureServed(context: Context): Promise<void> {
  const { options, results, save, tell } = context;
  await forEach(context, 'served', options.devices, String, async (device) => {
    await ensureProfile(context, device);
    const bout = await Bout.start(context, device, '', FORMS, Math.max(...options.concurrency));
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

/** A measured plan is what is to be tested, and it must not be made during the test. */
async function ensureProfile(context: Context, device: DeviceName): Promise<void> {
  const server = await serveOn(context, device, []);
  await server.stop();
}

/** What batching brings: the same server with and without, one after the other. */
export async function measureBatch1(context: Context): Promise<void> {
  await compare(context, 'batch1', () => ['', '--max-batch 1 --profile off', '']);
}

/** Plans by hand, between two visits of the automatic one. */
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
    return ['', ...grid, ''];
  });
}

interface Grid {
  readonly sessions: readonly number[];
  readonly batches: readonly number[];
}
const GRIDS: Readonly<Record<string, Grid>> = {
  cuda: { sessions: [1, 2, 3], batches: [8, 16, 32, 64] },
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
    '',
  ];
  const few = ['', '--http-workers 2', '--precision fp32', '--precision fp16'];
  await compare(context, 'steps', () => (context.options.quick ? few : all));
}

type Compared = Extract<PartName, 'batch1' | 'sweep' | 'steps'>;

/** Servers with different flags under the same full load. */
async function compare(
  context: Context,
  part: Compared,
  settingsFor: (device: DeviceName) => readonly string[],
): Promise<void> {
  const { options, results, save, tell } = context;
  const concurrency = fullLoad(context);
  const visits = mainDevices(options).flatMap((device) =>
    settingsFor(device).map((setting) => ({ device, setting })),
  );
  const name = ({ device, setting }: (typeof visits)[0]): string =>
    `${device} ${setting || 'as it comes'}`;
  const served = new Set<DeviceName>();
  await forEach(context, part, visits, name, async (visit) => {
    // Where it does not even serve as it comes, settings do not help.
    if (visit.setting !== '' && !served.has(visit.device)) return;
    const bout = await Bout.start(context, visit.device, visit.setting, ['raw'], concurrency);
    served.add(visit.device);
    const seconds = options.seconds[part];
    const row: ServedRow = await bout.measure({ form: 'raw', concurrency, seconds });
    results[part].push(row);
    tell(`  ${name(visit)}: ${rowLine(row)}`);
    save();
    await bout.stop();
  });
}
