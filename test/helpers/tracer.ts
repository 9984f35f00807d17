import { type ChildProcess, spawn } from 'node:child_process';

/** Makes everything fail that a process does to be sure that its writes are on the disk. */
export class Tracer {
  readonly #child: ChildProcess;
  readonly #attached: Promise<void>;

  constructor(pid: number) {
    const calls = 'fsync,fdatasync';
    this.#child = spawn(
      'strace',
      ['-f', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EIO`, '-p', String(pid)],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#attached = new Promise((resolve, reject) => {
      this.#child.stderr?.on('data', (text: Buffer) => {
        if (text.includes('attached')) resolve();
      });
      this.#child.once('exit', (code) => {
        reject(new Error(`strace ended with ${String(code)}`));
      });
    });
  }

  attached(): Promise<void> {
    return this.#attached;
  }

  async detach(): Promise<void> {
    const exit = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGINT');
    await exit;
  }
}
