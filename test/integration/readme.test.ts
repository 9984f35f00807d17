import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Detection } from '../../src/heads/detection.js';
import { TestServer } from '../helpers/server.js';

const readme = readFileSync('README.md', 'utf8');
const run = promisify(execFile);

/** Shell blocks of the README that send something. */
const snippets = [...readme.matchAll(/```sh\n(.*?)```/gs)]
  .flatMap(([, block = '']) => block.split('\n\n'))
  .filter((snippet) => /curl |shoal jobs/.test(snippet));
const predictions = snippets.filter((snippet) => snippet.includes('/predict'));

/** Headings as they are linked to. */
function anchorsOf(page: string): string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the README', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server.stop());

  it('has the examples that are tested here', () => {
    expect(predictions).toHaveLength(3);
    expect(snippets).toHaveLength(6);
  });

  const runSnippet = async (snippet: string): Promise<string> => {
    const script = snippet
      .replaceAll('localhost:8000', new URL(server.url).host)
      .replaceAll('npx shoal jobs submit', `node dist/cli/main.js jobs submit --url ${server.url}`)
      .replaceAll('--out results.jsonl', '');
    return (await run('bash', ['-c', script])).stdout;
  };

  it('has jobs that are taken, listed and waited for', async () => {
    const [submit = '', list = '', folder = ''] = snippets.filter((one) => one.includes('jobs'));
    expect(JSON.parse(await runSnippet(submit))).toMatchObject({ progress: { total: 2 } });
    expect(JSON.parse(await runSnippet(list))).toMatchObject({
      jobs: [{ progress: { total: 2 } }],
    });
    const lines = (await runSnippet(folder)).trim().split('\n');
    const results = lines.map((line) => JSON.parse(line) as { file: string; state: string });
    expect(results.map(({ file }) => file).sort()).toEqual([
      'examples/cat.jpg',
      'examples/coffee.jpg',
    ]);
    expect(results.every(({ state }) => state === 'completed')).toBe(true);
  });

  it.each(predictions)('%s', async (snippet) => {
    const { detections } = JSON.parse(await runSnippet(snippet)) as {
      detections: Detection[];
    };
    expect(detections[0]?.label).toBe(snippet.includes('coffee') ? 'cup' : 'cat');
  });

  it('shows the answer that is really given', async () => {
    const shown = JSON.parse(/```json\n(.*?)```/s.exec(readme)?.[1] ?? '') as {
      detections: Detection[];
    };
    const answer = await server.post('/predict', readFileSync('examples/coffee.jpg'), {
      'content-type': 'image/jpeg',
    });
    const { detections } = (await answer.json()) as { detections: Detection[] };
    expect(detections.map(({ label }) => label)).toEqual(
      shown.detections.map(({ label }) => label),
    );
    detections.forEach(({ confidence }, index) => {
      expect(confidence).toBeCloseTo(shown.detections[index]?.confidence ?? 0, 1);
    });
  });

  it('links only to files that exist', () => {
    const docs = readdirSync('docs').filter((name) => name.endsWith('.md'));
    const pages = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => join('docs', name))];
    for (const page of pages) {
      const links = readFileSync(page, 'utf8').matchAll(/\]\((?!http)([^)#]*)(?:#([^)]*))?\)/g);
      for (const [, path = '', anchor] of links) {
        const target = path === '' ? page : join(dirname(page), path);
        expect(existsSync(target), `${page} → ${path}`).toBe(true);
        if (anchor !== undefined)
          expect(anchorsOf(target), `${page} → #${anchor}`).toContain(anchor);
      }
    }
  });
});
