/** A version as Python packages have it (PEP 440). */
export interface Version {
  readonly text: string;
  readonly epoch: number;
  readonly release: readonly number[];
  /** `a`, `b` or `rc` and its number. */
  readonly pre: readonly [string, number] | undefined;
  readonly post: number | undefined;
  readonly dev: number | undefined;
  readonly local: string;
}

const PATTERN =
  /^v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[-_.]?(alpha|beta|preview|pre|rc|a|b|c)[-_.]?(\d*))?(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?(?:[-_.]?(dev)[-_.]?(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$/;
const PRE_NAMES: Readonly<Record<string, string>> = {
  alpha: 'a',
  beta: 'b',
  c: 'rc',
  pre: 'rc',
  preview: 'rc',
};

export function parseVersion(text: string): Version | undefined {
  const match = PATTERN.exec(text.trim().toLowerCase());
  if (match === null) return undefined;
  const [, epoch, release = '', pre, preNumber, bare, post, postNumber, dev, devNumber, local] =
    match;
  return {
    text: text.trim(),
    epoch: Number(epoch ?? 0),
    release: release.split('.').map(Number),
    pre: pre === undefined ? undefined : [PRE_NAMES[pre] ?? pre, Number(preNumber ?? 0)],
    post: bare !== undefined ? Number(bare) : post === undefined ? undefined : Number(postNumber),
    dev: dev === undefined ? undefined : Number(devNumber),
    local: local ?? '',
  };
}

/** Neither pre-releases nor snapshots are ever chosen. */
export function isStable({ pre, dev }: Version): boolean {
  return pre === undefined && dev === undefined;
}

/** Below 0 when `a` is older. Local parts do not count: no index that is asked has any. */
export function compareVersions(a: Version, b: Version): number {
  return (
    a.epoch - b.epoch ||
    compareReleases(a.release, b.release) ||
    comparePre(a, b) ||
    (a.post ?? -1) - (b.post ?? -1) ||
    compareDev(a.dev, b.dev)
  );
}

/** As if the shorter one went on with zeros. */
export function compareReleases(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function comparePre(a: Version, b: Version): number {
  const [rankA, rankB] = [preRank(a), preRank(b)];
  return rankA - rankB || (a.pre?.[1] ?? 0) - (b.pre?.[1] ?? 0);
}

/** Snapshots of a release come before its pre-releases, those before the release itself. */
function preRank({ pre, post, dev }: Version): number {
  if (pre !== undefined) return ['a', 'b', 'rc'].indexOf(pre[0]);
  return dev !== undefined && post === undefined ? -1 : 3;
}

function compareDev(a: number | undefined, b: number | undefined): number {
  return (a ?? Infinity) === (b ?? Infinity) ? 0 : (a ?? Infinity) - (b ?? Infinity);
}
