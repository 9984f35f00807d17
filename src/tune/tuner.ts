import type { DeviceName } from '../config/devices.js';
import type { LoadResult } from '../load/load-result.js';
import { AUTO, autoWithTarget, type Candidate, type PlanFacts, setByHand } from './candidate.js';
import { finalistsOf } from './choice.js';
import { outlook } from './effort.js';
import { type Finding, findingOf, type Visit } from './finding.js';
import type { LoadJob } from './load-generator.js';
import { countSizes, type Line, linesFor, nextMaxBatch, type Tried } from './search-space.js';
import { visit, type VisitedServer } from './visit.js';

export interface TunerOptions {
  readonly cores: number;
  readonly windows: readonly number[];
  readonly largestBatch: number;
  /** Of a run in the final rounds. */
  readonly seconds: number;
  readonly rounds: number;
  readonly targetP99Ms: number | undefined;
  /** The rate at which the target must be met; otherwise a share of what a plan can do. */
  readonly rate: number | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: TuneProgress) => void;
}

/** What a search needs from outside. */
export interface TunerHost {
  /** @param isFinal as an operator would run it; in the search a quick start counts more */
  start(candidate: Candidate, isFinal: boolean): Promise<StartedServer>;
  load(job: LoadJob): Promise<LoadResult>;
  now(): number;
}

export interface StartedServer extends VisitedServer {
  readonly plan: PlanFacts;
  /** What the model runs on. */
  readonly device: DeviceName;
  stop(): Promise<void>;
}

export interface TuneProgress {
  readonly stage: string;
  readonly candidate: Candidate;
  /** `undefined` when it begins; a reason when it failed. */
  readonly ended?: Visit | string;
  readonly share: number;
  readonly leftMs: number;
}

export interface TuneOutcome {
  /** What all of them ran on. */
  readonly device: DeviceName;
  readonly findings: readonly Finding[];
  /** Candidates that did not work, and why. */
  readonly failures: readonly { readonly name: string; readonly reason: string }[];
}

const SEARCH_SECONDS = 2;
const WARM_UP_SECONDS = 1.5;
/** In front of a GPU several processes receive thousands of requests; V8 is done with them later. */
const GPU_WARM_UP_SECONDS = 6;
/** About what a start takes; the estimate corrects itself. */
const START_SECONDS = 1.5;
/** Of its own limit: busy, but not overloaded. */
const PACE = 0.7;

/** Visits all candidates once, then the best of them in turn. */
export class Tuner {
  readonly #options: TunerOptions;
  readonly #host: TunerHost;
  readonly #known = new Map<string, { candidate: Candidate; plan: PlanFacts; visits: Visit[] }>();
  readonly #failures: { name: string; reason: string }[] = [];
  readonly #startedAt: number;
  #device: DeviceName = 'cpu';
  #searchesLeft = 0;
  #finalsLeft = 0;
  #doneSeconds = 0;

  constructor(options: TunerOptions, host: TunerHost) {
    this.#options = options;
    this.#host = host;
    this.#startedAt = host.now();
    this.#expect(options.targetP99Ms === undefined ? 1 : 2);
  }

  get outcome(): TuneOutcome {
    const findings = [...this.#known.values()].map(({ candidate, plan, visits }) =>
      findingOf(candidate, plan, visits),
    );
    return { device: this.#device, findings, failures: this.#failures };
  }

  /** Until all is measured or the signal comes; `outcome` has what is known then. */
  async run(): Promise<void> {
    try {
      await this.#search();
      await this.#finals();
    } catch (error) {
      // What was killed fails; that is how it ends early.
      if (!this.#isStopped()) throw error;
    }
  }

  async #search(): Promise<void> {
    const { targetP99Ms, largestBatch } = this.#options;
    // If this one does not work, none will. It also tells what the others will run on.
    await this.#visit(AUTO, 0);
    this.#expect(targetP99Ms === undefined ? 0 : 1);
    if (targetP99Ms !== undefined) await this.#try(autoWithTarget(targetP99Ms), 0);
    for (const line of this.#lines()) {
      const tried: Tried[] = [];
      let unused = countSizes(line, largestBatch);
      for (;;) {
        const maxBatch = nextMaxBatch(line, tried, largestBatch);
        if (maxBatch === undefined || this.#isStopped()) break;
        unused--;
        const found = await this.#try(setByHand(line, maxBatch, line.windowMs), 0);
        // What does not work with this batch does not work with a larger one.
        if (found === undefined) break;
        tried.push({ maxBatch, imagesPerSecond: found.imagesPerSecond });
      }
      this.#searchesLeft -= unused;
    }
  }

  async #finals(): Promise<void> {
    const { targetP99Ms, rounds } = this.#options;
    const best = finalistsOf(this.outcome.findings, targetP99Ms);
    const candidates = [AUTO, ...best.map(({ candidate }) => candidate)];
    this.#finalsLeft = rounds * candidates.length;
    for (let round = 1; round <= rounds; round++) {
      // Each round begins with another one, so that none always comes after the same.
      const first = (round - 1) % candidates.length;
      for (const candidate of [...candidates.slice(first), ...candidates.slice(0, first)]) {
        if (this.#isStopped()) return;
        await this.#try(candidate, round);
      }
    }
  }

  /** One that fails is noted, and does not end the search. */
  async #try(candidate: Candidate, round: number): Promise<Visit | undefined> {
    try {
      return await this.#visit(candidate, round);
    } catch (error) {
      if (this.#isStopped()) return undefined;
      const reason = (error as Error).message;
      const { name } = candidate;
      const isKnown = this.#failures.some((one) => one.name === name && one.reason === reason);
      if (!isKnown) this.#failures.push({ name, reason });
      this.#tell(candidate, round, reason);
      return undefined;
    }
  }

  async #visit(candidate: Candidate, round: number): Promise<Visit> {
    const { rate } = this.#options;
    const isFinal = round > 0;
    this.#options.signal.throwIfAborted();
    this.#tell(candidate, round);
    const pace = this.#hasTarget() ? (rate === undefined ? { share: PACE } : { rate }) : undefined;
    let visited;
    let server;
    try {
      server = await this.#host.start(candidate, isFinal);
      this.#device = server.device;
      visited = await visit(server, server.plan, (job) => this.#host.load(job), {
        round,
        pace,
        seconds: this.#secondsOf(isFinal),
        warmUpSeconds: this.#warmUpSeconds(),
      });
    } finally {
      this.#doneSeconds += this.#costOf(isFinal);
      if (isFinal) this.#finalsLeft--;
      else this.#searchesLeft--;
      await server?.stop();
    }
    const known = this.#known.get(candidate.name) ?? { candidate, plan: server.plan, visits: [] };
    known.visits.push(visited);
    this.#known.set(candidate.name, known);
    this.#tell(candidate, round, visited);
    return visited;
  }

  #tell(candidate: Candidate, round: number, ended?: Visit | string): void {
    const leftSeconds =
      this.#searchesLeft * this.#costOf(false) + this.#finalsLeft * this.#costOf(true);
    const elapsedMs = this.#host.now() - this.#startedAt;
    this.#options.onProgress({
      stage: round === 0 ? 'search' : `round ${String(round)} of ${String(this.#options.rounds)}`,
      candidate,
      ...(ended !== undefined && { ended }),
      ...outlook({ doneSeconds: this.#doneSeconds, leftSeconds, elapsedMs }),
    });
  }

  #costOf(isFinal: boolean): number {
    const loads = this.#hasTarget() ? 2 : 1;
    return START_SECONDS + this.#warmUpSeconds() + loads * this.#secondsOf(isFinal);
  }

  #warmUpSeconds(): number {
    const { seconds } = this.#options;
    return this.#device === 'cpu'
      ? Math.min(WARM_UP_SECONDS, seconds)
      : Math.min(GPU_WARM_UP_SECONDS, 2 * seconds);
  }

  #secondsOf(isFinal: boolean): number {
    const { seconds } = this.#options;
    return isFinal ? seconds : Math.min(SEARCH_SECONDS, seconds);
  }

  #lines(): Line[] {
    return linesFor(this.#device, this.#options.cores, this.#options.windows);
  }

  /** How much there is to do, as far as is known. @param others candidates that are on no line */
  #expect(others: number): void {
    const { largestBatch, rounds } = this.#options;
    const sizes = this.#lines().reduce((sum, line) => sum + countSizes(line, largestBatch), 0);
    this.#searchesLeft = others + sizes;
    this.#finalsLeft = rounds * (1 + Math.min(4, sizes));
  }

  #hasTarget(): boolean {
    return this.#options.targetP99Ms !== undefined;
  }

  #isStopped(): boolean {
    return this.#options.signal.aborted;
  }
}
