import type { JobView } from '../../jobs/job-view.js';
import type { JobsClient } from './client.js';
import type { Clock } from './context.js';
import { runCrew } from './crew.js';
import { problemText, Refusal, type SeenProblem } from './failures.js';
import { Follower } from './follower.js';
import { printable } from './output.js';
import type { SubmitProgress } from './progress.js';
import {
  isSuccess,
  refusedLine,
  type ResultLine,
  resultLines,
  type SentJob,
  unknownLines,
} from './result-lines.js';
import type { ResultsFile } from './results-file.js';
import type { SubmitArgs } from './submit-args.js';
import { Submitter } from './submitter.js';
import { groupsOf, walk } from './walk.js';

export interface SubmitRunOptions {
  readonly args: SubmitArgs;
  readonly client: JobsClient;
  readonly runKey: string;
  readonly clock: Clock;
  readonly progress: SubmitProgress;
  readonly results: ResultsFile;
  readonly stop: AbortController;
}

/** Sends all images and, where that was asked for, follows their jobs, side by side. */
export class SubmitRun {
  readonly #options: SubmitRunOptions;
  readonly #submitter: Submitter;
  readonly #follower: Follower;
  /** A folder could not be searched. */
  hasUnreadable = false;

  constructor(options: SubmitRunOptions) {
    this.#options = options;
    const { args, client, runKey, clock, progress, stop } = options;
    const { patienceMs, fields } = args;
    const how = { clock, patienceMs, signal: stop.signal, onTrouble: progress.onTrouble };
    this.#submitter = new Submitter({
      client,
      runKey,
      fields,
      how,
      onJob: (job, files) => this.#accepted(job, files),
      onRefused: (file, problem) => this.#refused(file, problem),
    });
    this.#follower = new Follower({
      client,
      how,
      onEnd: (sent, end) => this.#ended(sent, end),
    });
  }

  async toEnd(): Promise<void> {
    const { args, stop } = this.#options;
    const files = walk({
      paths: args.paths,
      onUnreadable: (folder, error) => {
        this.hasUnreadable = true;
        this.#options.progress.tell(`cannot search ${printable(folder)}: ${error.message}`);
      },
    });
    const groups = groupsOf(files, args.imagesPerJob);
    const crewOf = (member: () => Promise<void>): (() => Promise<void>)[] =>
      Array.from({ length: args.concurrency }, () => member);
    const submitAll = async (): Promise<void> => {
      await runCrew(
        crewOf(() => this.#submit(groups)),
        stop,
      );
      this.#follower.end();
    };
    await runCrew([submitAll, ...crewOf(() => this.#follower.follow())], stop);
  }

  /** Several take from the same groups. */
  async #submit(groups: AsyncGenerator<string[]>): Promise<void> {
    for (;;) {
      this.#options.stop.signal.throwIfAborted();
      const next = await groups.next();
      if (next.done === true) return;
      await this.#submitter.submit(next.value);
    }
  }

  async #accepted(job: JobView, files: readonly string[]): Promise<void> {
    const { args, progress } = this.#options;
    progress.add('submitted', files.length);
    const sent = { id: job.id, files };
    // An earlier run may have sent it, and it may have ended since; its results come by id.
    if (args.isWaiting) this.#follower.add(sent);
    else await this.#write(files.map((file) => ({ file, job: job.id, state: job.state })));
  }

  async #refused(file: string, problem: SeenProblem): Promise<void> {
    const { progress } = this.#options;
    progress.add('refused', 1);
    progress.tell(`${printable(file)}: ${problemText(problem)}`);
    await this.#write([refusedLine(file, problem)]);
  }

  async #ended(sent: SentJob, end: JobView | Refusal): Promise<void> {
    const { progress } = this.#options;
    const lines = end instanceof Refusal ? unknownLines(sent, end.problem) : resultLines(sent, end);
    for (const line of lines.filter((one) => !isSuccess(one))) {
      const why = line.problem === undefined ? '' : `: ${problemText(line.problem)}`;
      progress.tell(`${printable(line.file)}: ${line.state}${why}`);
    }
    await this.#write(lines);
    const good = lines.filter(isSuccess).length;
    progress.add('done', good);
    progress.add('failed', lines.length - good);
  }

  async #write(lines: readonly ResultLine[]): Promise<void> {
    this.#options.progress.hide();
    await this.#options.results.write(lines);
  }
}
