import { describe, expect, it } from 'vitest';
import { jobText } from '../../../src/cli/jobs/job-text.js';
import { progressBar, progressText, rateOf } from '../../../src/cli/jobs/progress-text.js';
import { span } from '../../../src/cli/jobs/span.js';
import { interruptedText, summaryText } from '../../../src/cli/jobs/submit-report.js';
import { JobTable } from '../../../src/cli/jobs/table.js';
import { toProblem } from '../../../src/errors.js';
import type { JobView } from '../../../src/jobs/job-view.js';

const NOW = Date.parse('2026-11-15T12:03:00Z');
const OPEN: JobView = {
  id: 'job_abc',
  state: 'queued',
  model: 'one',
  priority: 'normal',
  confidence_threshold: 0.5,
  progress: { done: 2, total: 2 },
  tries: 0,
  created_at: '2026-11-15T12:00:00Z',
  started_at: '2026-11-15T12:00:01Z',
  expires_at: '2026-11-16T12:00:00Z',
  timings: { queued_ms: 1000, running_ms: 1000 },
};
const JOB: JobView = { ...OPEN, state: 'completed', finished_at: '2026-11-15T12:00:02Z' };

describe('durations', () => {
  it.each([
    [-5, '0 ms'],
    [30.4, '30 ms'],
    [999.7, '1.0 s'],
    [9940, '9.9 s'],
    [9960, '10 s'],
    [59_600, '1 min'],
    [63_000, '1 min 3 s'],
    [3_600_000, '1 h'],
    [93_600_000, '1 d 2 h'],
  ])('%f ms is %s', (ms, text) => {
    expect(span(ms)).toBe(text);
  });
});

describe('the table of jobs', () => {
  it('has aligned columns, also on later pages, and a heading once', () => {
    const table = new JobTable();
    const queued = { ...JOB, state: 'queued' as const, timings: { queued_ms: 1 } };
    expect(table.page([JOB, queued], NOW)).toBe(
      'id       state      model  images  age    ran\n' +
        'job_abc  completed  one    2/2     3 min  1.0 s\n' +
        'job_abc  queued     one    2/2     3 min  –\n',
    );
    expect(table.page([queued], NOW)).toBe('job_abc  queued     one    2/2     3 min  –\n');
  });

  it('lets no name of a server move the cursor', () => {
    const text = new JobTable().page([{ ...JOB, model: 'x\x1b[2Jy\n' }], NOW);
    expect(text).toContain('x?[2Jy?');
  });
});

describe('a job as text', () => {
  it('has results and problems of images', () => {
    const detection = { label: 'cat', confidence: 0.934, bbox: [4.4, 10, 210, 190] as const };
    const results = [
      { detections: [detection, { ...detection, label: 'horse' }], inference_ms: 18.2 },
      { problem: toProblem('invalid_image', 'It is damaged.') },
    ];
    const text = jobText({ ...JOB, results }, NOW);
    expect(text).toMatch(/^job_abc {2}completed\n/);
    expect(text).toContain('  model       one\n');
    expect(text).toContain('  created     2026-11-15T12:00:00Z, 3 min ago\n');
    expect(text).toContain('  image 1     2 detections in 18 ms\n');
    expect(text).toContain('    cat    0.93  [4, 10, 210, 190]\n    horse  0.93');
    expect(text).toContain('  image 2     It is damaged (invalid_image)\n');
    expect(text).not.toContain('expires');
  });

  it('says why it failed, what is before it and what became of its webhook', () => {
    const text = jobText(
      {
        ...OPEN,
        position: 3,
        tries: 1,
        problem: toProblem('model_failed', 'It did not work.'),
        webhook: { state: 'pending', attempts: 2, reason: 'timed out' },
      },
      NOW,
    );
    expect(text).toContain('problem     It did not work (model_failed)\n');
    expect(text).toContain('position    3 jobs before it\n');
    expect(text).toContain('tries       failed 1 time\n');
    expect(text).toContain('webhook     pending after 2 attempts: timed out\n');
    expect(text).toContain('expires     2026-11-16');
  });
});

describe('the progress of a submission', () => {
  const tally = { total: 1000, submitted: 500, done: 240, failed: 5, refused: 5 };

  it('counts what has ended when that is waited for, and what was sent otherwise', () => {
    expect(progressText(tally, 10, true)).toBe(
      '25 %, 500 of 1000 submitted, 240 done, 10 failed, 10.0/s, 1 min 15 s left',
    );
    expect(progressText(tally, 500, false)).toBe(
      '51 %, 500 of 1000 submitted, 10 failed, 500/s, 1 s left',
    );
    expect(progressBar(tally, 0, true)).toBe(
      `${'█'.repeat(6)}${'░'.repeat(18)} 25 %, 500 of 1000 submitted, 240 done, 10 failed`,
    );
  });

  it('is never more than all, though files may come meanwhile', () => {
    const more = { ...tally, total: 100 };
    expect(progressText(more, 10, true)).toBe('100 %, 500 of 100 submitted, 240 done, 10 failed');
  });

  it('goes at the rate of the last marks', () => {
    expect(rateOf([])).toBe(0);
    expect(rateOf([{ at: 5, reached: 1 }])).toBe(0);
    const marks = [0, 1, 5].map((reached, at) => ({ at: at * 1000, reached }));
    expect(rateOf(marks)).toBe(2.5);
  });

  it('ends with a summary, or with how to go on', () => {
    const connection = { url: new URL('http://host:1'), apiKey: undefined, timeoutMs: 1 };
    const waiting = { isWaiting: true, connection };
    expect(summaryText(tally, waiting, 2000)).toBe('505 images in 2.0 s: 240 done, 10 failed');
    expect(summaryText(tally, { ...waiting, isWaiting: false }, 2000)).toBe(
      '505 images in 2.0 s: 500 submitted, 5 failed; see them with: shoal jobs list --url http://host:1',
    );
    const text = interruptedText({ tally, args: waiting, runKey: 'abc' });
    expect(text).toContain('500 of 1000 images had been submitted; 255 of them have not ended');
    expect(text).toContain('--resume-key abc');
    const here = { ...connection, url: new URL('http://127.0.0.1:8000') };
    const local = { tally, args: { isWaiting: false, connection: here }, runKey: 'abc' };
    expect(interruptedText(local)).toContain('to see them: shoal jobs list\n');
  });
});
