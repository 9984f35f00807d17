import { setTimeout } from 'node:timers/promises';
import type { DeviceName } from '../../src/config/devices.js';
import { type Context, CORES, forEach, mainDevices } from './context.js';
import { decodeRows } from './decode.js';
import { decodeLimit } from './limits.js';
import type { PartName } from './options.js';
import { Bout, ensureProfile, fullLoad, rowLine } from './serve.js';

/**
 * A server that has its profile from the cache checks it as soon as it has nothing else to do. With
 * others at work beside it that would take for ever, and would be in their way.
 */
const SETTLE_MS = 30_000;

type Compared = Extract<PartName, 'batch1' | 'sweep' | 'steps'>;

/**
 * Servers with different flags under the same full load. All of them are there the whole time and
 * have their turns, and decoding alone is measured before and after each: shared machines are not
 * equally fast all the time, and so everything is compared with what was measured beside it. Middle
 * rounds are reported.
 */
export async function compare(
  context: Context,
  part: Compared,
  settingsFor: (device: DeviceName) => readonly string[],
): Promise<void> {
  const { options, results, save, tell } = context;
  const concurrency = fullLoad(options);
  const seconds = options.seconds[part];
  await forEach(context, part, mainDevices(options), String, async (device) => {
    await ensureProfile(context, device);
    const bouts = await startAll(context, part, device, settingsFor(device));
    const asItComes = bouts.find(({ setting }) => setting === '');
    results.models[device] = await asItComes?.server.fetchJson('/models');
    let last = await decodeAlone(context);
    const besides = async (): Promise<number> => {
      const before = last;
      last = await decodeAlone(context);
      return (before + last) / 2;
    };
    for (let round = 0; round < options.rounds; round++) {
      for (const bout of inTurn(bouts, round)) {
        const row = await bout.measure({ form: 'raw', concurrency, seconds }, besides);
        results[part].push(row);
        tell(`  ${device} ${row.setting || 'as it comes'}: ${rowLine(row)}`);
        save();
      }
    }
    for (const bout of bouts) await bout.stop();
  });
}

async function decodeAlone(context: Context): Promise<number> {
  const limit = decodeLimit(await decodeRows(context, [CORES]));
  if (limit === undefined) throw new Error('decoding alone was not measured');
  context.tell(`  decoding alone: ${limit.toFixed(0)}/s`);
  return limit;
}

/** Whoever comes first after the pause is slower, and it should not always be the same one. */
export function inTurn<T>(all: readonly T[], round: number): T[] {
  const first = all.length === 0 ? 0 : round % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

/** Those that do not serve are left out. */
async function startAll(
  context: Context,
  part: Compared,
  device: DeviceName,
  settings: readonly string[],
): Promise<Bout[]> {
  const most = fullLoad(context.options);
  const starting = settings.map(async (setting) => {
    try {
      return [await Bout.start(context, device, setting, ['raw'], most)];
    } catch (error) {
      const what = `${device} ${setting || 'as it comes'}`;
      context.results.failures.push({ part, what, why: (error as Error).message });
      return [];
    }
  });
  const bouts = (await Promise.all(starting)).flat();
  if (!context.options.quick) await setTimeout(SETTLE_MS);
  // One after the other: they would be in each other's way.
  for (const bout of bouts) await bout.warmUp(most);
  return bouts;
}
