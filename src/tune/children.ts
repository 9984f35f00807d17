import type { ChildProcess } from 'node:child_process';

/** The processes that a search has started. None of them outlives it, however it ends. */
export class Children {
  readonly #alive = new Set<ChildProcess>();

  constructor() {
    process.once('exit', this.killAll);
  }

  add(child: ChildProcess): void {
    this.#alive.add(child);
    child.once('exit', () => this.#alive.delete(child));
  }

  /** Engines notice that their server is gone, and end. */
  readonly killAll = (): void => {
    for (const child of this.#alive) child.kill('SIGKILL');
  };

  /** Ends them all, and stands by no more. */
  close(): void {
    this.killAll();
    process.off('exit', this.killAll);
  }
}
