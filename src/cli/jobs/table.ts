import type { JobView } from '../../jobs/job-view.js';
import { printable } from './output.js';
import { span } from './span.js';

const HEADINGS = ['id', 'state', 'model', 'images', 'age', 'ran'];

/** Lines that keep their columns from page to page; a page can only widen them. */
export class JobTable {
  readonly #widths = HEADINGS.map((heading) => heading.length);
  #isBegun = false;

  page(jobs: readonly JobView[], now: number): string {
    const rows = [...(this.#isBegun ? [] : [HEADINGS]), ...jobs.map((job) => cells(job, now))];
    this.#isBegun = true;
    for (const row of rows) {
      row.forEach((cell, at) => {
        this.#widths[at] = Math.max(this.#widths[at] ?? 0, cell.length);
      });
    }
    return rows.map((row) => `${this.#line(row)}\n`).join('');
  }

  #line(row: readonly string[]): string {
    return row
      .map((cell, at) => cell.padEnd(this.#widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  }
}

function cells(
  { id, state, model, progress, created_at, timings }: JobView,
  now: number,
): string[] {
  const age = span(now - Date.parse(created_at));
  const ran = timings.running_ms === undefined ? '–' : span(timings.running_ms);
  const images = `${String(progress.done)}/${String(progress.total)}`;
  return [id, state, model, images, age, ran].map(printable);
}
