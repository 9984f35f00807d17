import { afterEach, describe, expect, it } from 'vitest';
import { Web } from '../../src/gpu/net/web.js';
import { PackageIndex } from '../../src/gpu/wheels/package-index.js';
import { FakeIndex } from './fake-index.js';

const PLATFORM = { arch: process.arch === 'arm64' ? 'arm64' : 'x64', glibc: '2.31' } as const;
const wheel = (project: string) => ({ project, version: '1.0', files: {} });
const started: FakeIndex[] = [];
afterEach(() => {
  for (const index of started.splice(0)) index.stop();
});

async function start(...args: Parameters<typeof FakeIndex.start>): Promise<FakeIndex> {
  const index = await FakeIndex.start(...args);
  started.push(index);
  return index;
}

/** Asks these indexes, and notes what is said about those that are passed over. */
function asking(urls: readonly string[]) {
  const skipped: string[] = [];
  const delays: number[] = [];
  const sleep = (ms: number) => Promise.resolve(delays.push(ms));
  const web = new Web({ indexUrls: urls, hasProxy: false, sleep });
  const index = new PackageIndex(web, urls, (problem) => skipped.push(problem));
  const version = async (name: string) => (await index.newest(name, [], PLATFORM)).version;
  return { version, skipped, delays };
}

describe('several indexes', () => {
  it('do without one that cannot be reached, and wait for it only once', async () => {
    const good = await start([wheel('x'), wheel('y')]);
    const gone = await start([]);
    const { url } = gone;
    gone.stop();
    const { version, skipped, delays } = asking([url, good.url]);
    expect([await version('x'), await version('y')]).toEqual(['1.0', '1.0']);
    expect(skipped).toEqual([expect.stringMatching(/^cannot read http:\S+\/simple\/x\/: /)]);
    expect(delays).toHaveLength(5);
    await expect(version('z')).rejects.toThrow(/^cannot read http/);
  });

  it('do without one that refuses, as far as another has the package', async () => {
    const good = await start([wheel('x')]);
    const closed = await start([wheel('x'), wheel('y')], { password: 'me:secret' });
    const { version, skipped } = asking([good.url, closed.url.replace('secret', 'wrong')]);
    expect(await version('x')).toBe('1.0');
    expect(skipped).toEqual([expect.stringMatching(/^http:\S+\/simple\/x\/ answers 401/)]);
    expect(skipped.join()).not.toContain('wrong');
    await expect(version('y')).rejects.toThrow(/\/simple\/y\/ answers 401/);
  });

  it('are all named when none has it', async () => {
    const urls = [(await start([])).url, (await start([])).url];
    await expect(asking(urls).version('x')).rejects.toThrow(`x is not on ${urls.join(' or ')}`);
  });
});
