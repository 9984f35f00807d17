export interface JobTotals {
  readonly open: number;
  readonly completed: number;
}

/** The few calls about jobs that a benchmark needs, for the part that is not measured. */
export class JobsClient {
  readonly #url: string;

  constructor(port: number) {
    this.#url = `http://127.0.0.1:${String(port)}`;
  }

  /** Hands in `count` jobs of one image each, in turn. @returns their ids */
  async fill(images: readonly Buffer[], count: number, type = 'image/jpeg'): Promise<string[]> {
    const ids: string[] = [];
    let next = 0;
    const client = async (): Promise<void> => {
      while (next < count) {
        const body = images[next++ % images.length];
        const response = await fetch(`${this.#url}/jobs`, {
          method: 'POST',
          headers: { 'content-type': type },
          body: body as unknown as string,
        });
        if (response.status !== 202) throw new Error(`a job was refused: ${await response.text()}`);
        ids.push(((await response.json()) as { id: string }).id);
      }
    };
    await Promise.all(Array.from({ length: 8 }, client));
    return ids;
  }

  /** Cancels what has not ended, last ones first, so that it does not begin meanwhile. */
  async cancel(ids: readonly string[]): Promise<void> {
    const left = [...ids];
    const client = async (): Promise<void> => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        await (await fetch(`${this.#url}/jobs/${id}`, { method: 'DELETE' })).text();
      }
    };
    await Promise.all(Array.from({ length: 8 }, client));
  }

  /** How many there are by what the metrics say, which are some seconds old. */
  async totals(): Promise<JobTotals> {
    const text = await (await fetch(`${this.#url}/metrics`)).text();
    const of = (state: string): number =>
      Number(new RegExp(`^shoal_jobs\\{state="${state}"\\} (\\S+)`, 'm').exec(text)?.[1] ?? 0);
    return { open: of('queued') + of('running'), completed: of('completed') };
  }

  /** How many have been run since the server started, by a counter that is exact. */
  async attempts(): Promise<number> {
    const text = await (await fetch(`${this.#url}/metrics`)).text();
    const lines = text.matchAll(/^shoal_job_attempts_total\{.*outcome="completed".*\} (\S+)/gm);
    return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
  }

  async done(count: number): Promise<void> {
    while ((await this.attempts()) < count) await new Promise((go) => setTimeout(go, 100));
  }
}
