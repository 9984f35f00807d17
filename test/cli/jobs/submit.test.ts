import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderOf, JobsRun } from '../../helpers/jobs-run.js';
import { JobsServer } from '../../helpers/jobs-server.js';

let server: JobsServer;
let jobs: JobsRun;
beforeEach(async () => {
  server = await JobsServer.start();
  jobs = new JobsRun(server.url);
});
afterEach(() => server.close());

const photos = (...texts: string[]) =>
  folderOf(Object.fromEntries(texts.map((text, at) => [`${String(at)}.jpg`, text])));

describe('shoal jobs submit', () => {
  it('makes a job of every image and says which', async () => {
    const folder = photos('cat', 'dog', 'cat');
    expect(await jobs.run('submit', folder)).toBe(0);
    expect(jobs.lines.map(({ file, state }) => [file, state]).sort()).toEqual(
      ['0.jpg', '1.jpg', '2.jpg'].map((name) => [join(folder, name), 'queued']),
    );
    expect(new Set(jobs.lines.map(({ job }) => job))).toEqual(new Set(server.jobs.keys()));
    expect(jobs.stderr).toMatch(/^3 images in .*: 3 submitted, 0 failed; see them with: shoal/);
  });

  it('writes the results as they come, one line per image', async () => {
    const folder = photos('cat', 'failing', 'odd');
    expect(await jobs.run('submit', folder, '--wait')).toBe(1);
    const ids = new Map(server.views().map(({ id, state }) => [id, state]));
    const byFile = new Map(jobs.lines.map((line) => [line.file.slice(folder.length + 1), line]));
    expect(byFile.size).toBe(3);
    expect(jobs.lines.every(({ job, state }) => ids.get(job ?? '') === state)).toBe(true);
    expect(byFile.get('0.jpg')).toMatchObject({
      state: 'completed',
      detections: [{ label: 'cat', confidence: 0.9, bbox: [1, 2, 3, 4] }],
      inference_ms: 7,
    });
    expect(byFile.get('1.jpg')).toMatchObject({
      state: 'failed',
      problem: { code: 'model_failed', status: 500 },
    });
    expect(byFile.get('2.jpg')).toMatchObject({
      state: 'completed',
      problem: { code: 'invalid_image' },
    });
    expect(jobs.stderr).toContain('1.jpg: failed: It did not work (model_failed)\n');
    expect(jobs.stderr).toContain(': 1 done, 2 failed\n');
  });

  it('reports an image that is refused, and goes on with the rest', async () => {
    const folder = photos('cat', 'bad', 'dog');
    expect(await jobs.run('submit', folder, '--wait')).toBe(1);
    const states = jobs.lines.map(({ file, job, state }) => [file.slice(-5), job === null, state]);
    expect(states.sort()).toEqual([
      ['0.jpg', false, 'completed'],
      ['1.jpg', true, 'refused'],
      ['2.jpg', false, 'completed'],
    ]);
    expect(jobs.stderr).toContain(
      '1.jpg: The bytes are not JPEG, PNG or WebP (unsupported_image_format)\n',
    );
  });

  it('groups images, and tells the bad one of a group by sending them singly', async () => {
    const folder = photos('a', 'b', 'bad', 'd', 'e');
    expect(await jobs.run('submit', folder, '--images-per-job', '2', '--wait')).toBe(1);
    const sent = [...server.jobs.values()].map(({ images }) => images.join());
    expect(sent.sort()).toEqual(['a,b', 'd', 'e']);
    const labels = jobs.lines.map(({ file, detections }) => [file.slice(-5), detections]);
    expect(labels).toContainEqual(['1.jpg', [expect.objectContaining({ label: 'b' })]]);
    expect(labels).toContainEqual(['2.jpg', undefined]);
    expect(labels).toHaveLength(5);
  });

  it('sends images singly where the server takes fewer at a time', async () => {
    server.maxJobImages = 2;
    expect(await jobs.run('submit', photos('a', 'b', 'c'), '--images-per-job', '3')).toBe(0);
    expect(server.jobs.size).toBe(3);
  });

  it('sends the settings with every job, and the key of the server', async () => {
    server.apiKey = 'secret-key';
    const settings = ['--model', 'm', '--threshold', '0.2', '--priority', 'high'];
    const more = ['--expires-in', '9', '--webhook-url', 'https://example.com/x?token=1'];
    const key = ['--api-key', 'secret-key'];
    expect(await jobs.run('submit', photos('a'), ...settings, ...more, ...key)).toBe(0);
    expect(server.requestsOf('POST /jobs')[0]?.fields).toEqual({
      model: 'm',
      confidence_threshold: '0.2',
      priority: 'high',
      expires_in: '9',
      webhook_url: 'https://example.com/x?token=1',
    });
  });

  it.each([
    ['a wrong key', [], 'This API key is not known (unauthorized); give a key with --api-key'],
    [
      'an unknown model',
      ['--api-key', 'secret-key', '--model', 'none'],
      'There is no model "none" (model_not_found)',
    ],
  ])('does not send all images to be told about %s', async (_what, args, message) => {
    server.apiKey = 'secret-key';
    const folder = photos(...Array.from({ length: 50 }, (_, at) => String(at)));
    const run = jobs.run('submit', folder, '--concurrency', '2', ...args);
    await expect(run).rejects.toThrow(message);
    expect(server.requestsOf('POST /jobs').length).toBeLessThanOrEqual(2);
  });

  it('replaces the file that the results go to', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'shoal-jobs-')), 'results.jsonl');
    writeFileSync(file, 'what an earlier run wrote\n');
    expect(await jobs.run('submit', photos('cat'), '--wait', '--out', file)).toBe(0);
    expect(jobs.stdout).toBe('');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ state: 'completed' });
  });

  it.each([
    [['/nowhere'], 'cannot read /nowhere'],
    [[folderOf({ 'a.txt': '' })], 'there are no images'],
    [[photos('a'), '--out', '/nowhere/x'], 'cannot write --out'],
  ])('refuses %j before anything is sent', async (args, message) => {
    await expect(jobs.run('submit', ...args)).rejects.toThrow(message);
    expect(server.requests).toEqual([]);
  });

  it('shows a bar on a terminal', async () => {
    jobs.isTerminal = true;
    expect(await jobs.run('submit', photos('a'), '--wait')).toBe(0);
    expect(jobs.stderr).toContain('\r\x1b[K');
    expect(jobs.stderr).toMatch(/1 image in .*: 1 done, 0 failed\n/);
  });
});
