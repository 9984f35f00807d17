import type { Wheel } from '../wheels/package-index.js';
import { isWanted, type Requirement } from '../wheels/requirement.js';
import { Specifier } from '../wheels/specifier.js';
import { RUNTIME_WHEEL } from './contents.js';
import type { InspectedWheel } from './inspect-wheel.js';

/** The extras of ONNX Runtime's wheel that name NVIDIA's libraries. */
const EXTRAS = ['cuda', 'cudnn'];
const CUDA_WHEEL = /^nvidia-cuda-runtime(-cu\d+)?$/;
/** Wheels whose versions are those of CUDA, and whose libraries change their names with them. */
const FOLLOWS_CUDA = /^nvidia-(cublas|nvjitlink|cuda-\w+)(-cu\d+)?$/;
const MAX_ROUNDS = 10;

type Wishes = ReadonlyMap<string, readonly Specifier[]>;

export interface ResolvedWheel extends InspectedWheel {
  /** What the others want of it. */
  readonly wanted: readonly Specifier[];
}

export interface ResolveHost {
  newest(name: string, wanted: readonly Specifier[]): Promise<Wheel>;
  inspect(wheel: Wheel): Promise<InspectedWheel>;
}

/**
 * All wheels that are needed for CUDA: what ONNX Runtime's own wheel names, what those name in
 * turn, and so on until nothing changes any more.
 */
export async function resolveWheels(
  version: string,
  arch: string,
  host: ResolveHost,
): Promise<ResolvedWheel[]> {
  const root: Wishes = new Map([[RUNTIME_WHEEL, [Specifier.parse(`==${version}`)]]]);
  let wishes = root;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const chosen: ResolvedWheel[] = [];
    for (const [name, wanted] of wishes) {
      chosen.push({ ...(await host.inspect(await host.newest(name, wanted))), wanted });
    }
    const next = wishesOf(root, chosen, arch);
    if (isSame(wishes, next)) return chosen;
    wishes = next;
  }
  throw new Error('the packages on the index contradict each other');
}

function wishesOf(root: Wishes, chosen: readonly InspectedWheel[], arch: string): Wishes {
  const all = new Map(root);
  for (const { wheel, requirements } of chosen) {
    for (const requirement of requirements) {
      if (!counts(wheel.name, requirement, arch)) continue;
      all.set(requirement.name, [...(all.get(requirement.name) ?? []), requirement.specifier]);
    }
  }
  const cuda = chosen.find(({ wheel }) => CUDA_WHEEL.test(wheel.name))?.wheel.version.split('.')[0];
  for (const [name, specifiers] of all) {
    // Some name a package of CUDA without any version and mean the one that fits.
    if (cuda === undefined || !FOLLOWS_CUDA.test(name)) continue;
    if (specifiers.every(({ isAny }) => isAny)) {
      all.set(name, [...specifiers, Specifier.parse(`==${cuda}.*`)]);
    }
  }
  return all;
}

function counts(parent: string, requirement: Requirement, arch: string): boolean {
  if (!requirement.name.startsWith('nvidia-')) return false;
  const extras = parent === RUNTIME_WHEEL ? EXTRAS : [''];
  return extras.some((extra) => isWanted(requirement, { extra, arch }));
}

function isSame(a: Wishes, b: Wishes): boolean {
  const text = (wishes: Wishes): string =>
    [...wishes]
      .map(([name, specifiers]) => `${name} ${specifiers.map((one) => one.text).join()}`)
      .sort()
      .join('\n');
  return text(a) === text(b);
}
