import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom } from '../../src/load/random.js';
import { Clients } from './clients.js';
import { judgeDeliveries } from './deliveries.js';
import { assemble, databaseFile, type StoreKind, WEBHOOK_SECRET } from './fleet.js';
import { type Judgement, judge } from './judge.js';
import { inspectFile } from './database-file.js';
import { Killer } from './killer.js';
import { Ledger } from './ledger.js';
import { drained, readAll } from './reading.js';
import { startReceiver } from './webhook-receiver.js';

export interface ChaosOptions {
  readonly store: StoreKind;
  readonly cycles: number;
  readonly jobs: number;
  readonly seed: number;
  readonly drainMs: number;
  readonly tell: (text: string) => void;
}

export interface ChaosReport {
  readonly violations: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  /** What processes complained about, and how often. */
  readonly complaints: ReadonlyMap<string, number>;
}

/** Not every store has a file that can be looked into. */
const UNSEEN: Judgement = { violations: [], counts: {} };

/** Kills what there is to kill while clients go on, and then counts what they were promised. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { store, cycles, jobs, seed, tell } = options;
  const folder = mkdtempSync(join(tmpdir(), 'shoal-chaos-'));
  const ledger = new Ledger();
  const fleet = await assemble(store, folder, createRandom(seed));
  const killer = new Killer(fleet, createRandom(seed + 1));
  const receiver = await startReceiver(createRandom(seed + 2));
  // Also when this process is told to end on the way.
  const leave = (): void => {
    killer.killAll();
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', leave);
  try {
    await killer.startAll();
    const clients = new Clients({
      ledger,
      random: createRandom(seed + 3),
      urls: fleet.urls,
      webhookUrl: receiver.url,
      jobs,
      perSecond: (1.2 * jobs) / cycles,
    });
    let told = new Set<string>();
    for (let cycle = 0; cycle < cycles; cycle++) {
      clients.allowed = Math.ceil((jobs * (cycle + 1)) / cycles);
      await killer.cycle();
      const wrong = [...ledger.violations, ...killer.violations];
      // Told at once: the logs of that moment are worth a look.
      for (const one of wrong.filter((what) => !told.has(what))) tell(`✗ ${one}`);
      told = new Set(wrong);
      const isWorthTelling = (cycle + 1) % Math.ceil(cycles / 20) === 0;
      if (isWorthTelling) tell(progress(cycle + 1, cycles, ledger, wrong.length));
    }
    await killer.heal();
    await clients.finish();
    tell(`${String(ledger.entries.size)} submitted, waiting until everything is done`);
    const [url = ''] = fleet.urls;
    const views = await readAll(url, await drained(url, options.drainMs));
    for (const view of views) ledger.observe(view);
    await killer.stopAll();

    const entries = [...ledger.entries.values()];
    const wanted = new Set(
      entries
        .map(({ submission }) => submission)
        .filter((one) => one.hasWebhook)
        .map((one) => one.n),
    );
    const jobsJudged = judge({ entries, views, kills: killer.kills });
    const hooksJudged = judgeDeliveries(receiver.calls, views, wanted, WEBHOOK_SECRET);
    const file = store === 'embedded' ? inspectFile(databaseFile(folder)) : UNSEEN;
    return {
      violations: [
        ...killer.violations,
        ...ledger.violations,
        ...jobsJudged.violations,
        ...hooksJudged.violations,
        ...file.violations,
      ],
      counts: {
        ...killer.counts,
        submitted: entries.length,
        acknowledged: ledger.acknowledged,
        'sent again with their key': ledger.resent,
        'looks at jobs': ledger.looks,
        ...jobsJudged.counts,
        ...hooksJudged.counts,
        ...file.counts,
      },
      complaints: killer.complaints,
    };
  } finally {
    process.removeListener('exit', leave);
    leave();
    await receiver.close();
  }
}

function progress(cycle: number, cycles: number, ledger: Ledger, wrong: number): string {
  return (
    `cycle ${String(cycle)} of ${String(cycles)}: ${String(ledger.entries.size)} submitted, ` +
    `${String(ledger.acknowledged)} acknowledged, ${String(wrong)} violations`
  );
}
