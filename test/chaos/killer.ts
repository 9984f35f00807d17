import type { Failpoint } from '../../src/jobs/failpoint.js';
import type { Random } from '../../src/load/random.js';
import type { Fleet } from './fleet.js';
import { pause } from './http.js';
import { type Member, survivorsOf } from './member.js';

/** How likely a process is to kill itself each time it passes. */
const FAILPOINTS: readonly (readonly [Failpoint, number])[] = [
  ['submit.written', 0.03],
  ['submit.durable', 0.03],
  ['claim.taken', 0.03],
  ['run.done', 0.03],
  ['verdict.durable', 0.03],
  ['webhook.sent', 0.1],
];
const FAILPOINT_SHARE = 0.4;
const [SHORTEST_MS, LONGEST_MS] = [10, 2000];
/** Engines notice that they are alone. */
const SURVIVAL_MS = 10_000;
/** How long Redis takes to be back. */
const MOMENT_MS = 2000;

/** Kills the members of a fleet at random moments and starts them again. */
export class Killer {
  readonly #fleet: Fleet;
  readonly #random: Random;
  readonly violations: string[] = [];
  readonly #doomed = new Map<Member, boolean>();
  #deliberate = 0;
  #storeKills = 0;

  constructor(fleet: Fleet, random: Random) {
    this.#fleet = fleet;
    this.#random = random;
  }

  get #all(): readonly Member[] {
    const { store, members } = this.#fleet;
    return store === undefined ? members : [store, ...members];
  }

  /** When somebody ended, in ms since 1970. */
  get kills(): number[] {
    return this.#all.flatMap(({ deaths }) => deaths);
  }

  get counts(): Readonly<Record<string, number>> {
    return {
      kills: this.kills.length,
      'of these at a failpoint': this.kills.length - this.#deliberate,
      ...(this.#fleet.store !== undefined && { 'of these of the store': this.#storeKills }),
    };
  }

  /** What all of them have logged as errors, and how often. */
  get complaints(): ReadonlyMap<string, number> {
    const all = new Map<string, number>();
    for (const [text, count] of this.#all.flatMap(({ complaints }) => [...complaints])) {
      all.set(text, (all.get(text) ?? 0) + count);
    }
    return all;
  }

  /** All of them, in good health. */
  async startAll(): Promise<void> {
    const { store, members } = this.#fleet;
    // The others need it when they start.
    for (const group of [store === undefined ? [] : [store], members]) {
      for (const member of group) if (!member.isRunning) member.start();
      for (const member of group) {
        if (await member.up) continue;
        throw new Error(`${member.options.name} does not start:\n${member.lastLines.join('\n')}`);
      }
    }
  }

  async cycle(): Promise<void> {
    const random = this.#random;
    const { store, members } = this.#fleet;
    const isStoresTurn = store !== undefined && random() < 0.1;
    const victim = isStoresTurn ? store : members[Math.floor(random() * members.length)];
    if (victim === undefined) throw new Error('there is nobody to kill');
    // Mostly while it works, now and then while it starts.
    const isEarly = random() < 0.15;
    if (!isEarly) await victim.up;
    const isDoomed = this.#doomed.get(victim) === true;
    const ms = SHORTEST_MS + random() * (LONGEST_MS - SHORTEST_MS);
    await Promise.race([pause(isDoomed ? 2 * ms : ms), victim.exit]);
    if (victim.isRunning) this.#deliberate++;
    victim.kill(random() < 0.5 ? 'group' : 'leader');
    await victim.exit;
    if (isStoresTurn) this.#storeKills++;
    for (const member of this.#all) if (!member.isRunning) this.#restart(member);
    this.#expectNoSurvivors();
  }

  /** In good health for the rest of the run. */
  async heal(): Promise<void> {
    for (const member of this.#all) {
      if (this.#doomed.get(member) !== true || !member.isRunning) continue;
      this.#deliberate++;
      member.kill('group');
      await member.exit;
    }
    await this.startAll();
  }

  async stopAll(): Promise<void> {
    for (const member of this.#all.toReversed()) await member.stop();
    const until = performance.now() + SURVIVAL_MS;
    while (survivorsOf(this.#groups(0)).length > 0 && performance.now() < until) await pause(50);
    this.#complain(survivorsOf(this.#groups(0)));
  }

  /** After a failure: nothing may be left behind. */
  killAll(): void {
    for (const member of this.#all) member.kill('group');
  }

  #restart(member: Member): void {
    const random = this.#random;
    if (member.exitCode !== null && !this.#missedStore(member)) {
      const { name } = member.options;
      this.violations.push(
        `${name} ended by itself with ${String(member.exitCode)}:\n${member.lastLines.join('\n')}`,
      );
    }
    const isDoomed = member !== this.#fleet.store && random() < FAILPOINT_SHARE;
    const [name, chance] = FAILPOINTS[Math.floor(random() * FAILPOINTS.length)] ?? [];
    this.#doomed.set(member, isDoomed);
    member.start(isDoomed ? { TEST_FAILPOINTS: `${String(name)}:${String(chance)}` } : {});
  }

  /** Whoever finds no Redis when it starts says so and ends. */
  #missedStore({ wasUp, startedAt }: Member): boolean {
    return !wasUp && this.#fleet.store?.deaths.some((at) => at > startedAt - MOMENT_MS) === true;
  }

  #expectNoSurvivors(): void {
    this.#complain(survivorsOf(this.#groups(SURVIVAL_MS)));
  }

  #complain(survivors: readonly number[]): void {
    if (survivors.length > 0) {
      this.violations.push(`processes without a server are still there: ${survivors.join(', ')}`);
    }
  }

  #groups(olderThanMs: number): number[] {
    const before = performance.now() - olderThanMs;
    return this.#all.flatMap(({ pastGroups }) =>
      pastGroups.filter(({ at }) => at <= before).map(({ group }) => group),
    );
  }
}
