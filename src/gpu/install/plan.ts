import type { Host } from '../host.js';
import { onnxRuntimeVersion } from '../runtime-files.js';
import { PackageIndex, type Wheel } from '../wheels/package-index.js';
import type { Platform } from '../wheels/wheel-name.js';
import type { Web } from '../net/web.js';
import { libraryNames, unpackedBytes } from './contents.js';
import { inspectWheel, type InspectedWheel } from './inspect-wheel.js';
import { foldersOnMachine } from './on-machine.js';
import { type ResolvedWheel, resolveWheels } from './resolve.js';

export interface PlannedWheel {
  readonly wheel: Wheel;
  /** Where the index or the server says so. */
  readonly downloadBytes: number | undefined;
  /** Where one can look into the wheel without downloading it. */
  readonly unpackedBytes: number | undefined;
}

export interface InstallPlan {
  readonly runtimeVersion: string;
  readonly wheels: readonly PlannedWheel[];
  /** Left out, since the machine has them. */
  readonly present: readonly Wheel[];
  /** Where it has them. */
  readonly machineFolders: readonly string[];
  readonly machineLibraries: readonly string[];
}

export interface PlanOptions {
  readonly host: Host;
  readonly platform: Platform;
  readonly web: Web;
  readonly indexUrls: readonly string[];
  /** Leave nothing out. */
  readonly isAll: boolean;
  readonly fetchWhole: (wheel: Wheel) => Promise<string>;
  /** What an earlier attempt has found out about a wheel. */
  readonly recall: (wheel: Wheel) => Promise<InspectedWheel | undefined>;
  /** An index gave no answer, but another one did. */
  readonly onSkip: (problem: string) => void;
}

/** What has to be downloaded. Writes nothing, unless the server forces `fetchWhole`. */
export async function planInstall(options: PlanOptions): Promise<InstallPlan> {
  const { host, platform, web, indexUrls, isAll, fetchWhole, recall, onSkip } = options;
  const runtimeVersion = onnxRuntimeVersion();
  const index = new PackageIndex(web, indexUrls, onSkip);
  const inspected = new Map<string, Promise<InspectedWheel>>();
  const recalled = new Set<string>();
  const inspect = async (wheel: Wheel): Promise<InspectedWheel> => {
    const known = await recall(wheel);
    if (known === undefined) return inspectWheel(web, wheel, fetchWhole);
    recalled.add(wheel.file.url);
    return known;
  };
  const resolved = await resolveWheels(runtimeVersion, platform.arch, {
    newest: (name, wanted) => index.newest(name, wanted, platform),
    inspect: (wheel) => {
      const known = inspected.get(wheel.file.url) ?? inspect(wheel);
      inspected.set(wheel.file.url, known);
      return known;
    },
  });
  // What an earlier attempt has fetched is kept: another plan would begin anew.
  const isFetched = ({ wheel }: ResolvedWheel): boolean => isAll || recalled.has(wheel.file.url);
  const places = new Map(
    resolved.map((one) => [one, isFetched(one) ? undefined : placeOf(host, one)]),
  );
  const missing = resolved.filter((one) => places.get(one) === undefined);
  const present = resolved.filter((one) => places.get(one) !== undefined);
  return {
    runtimeVersion,
    wheels: missing.map(({ wheel, downloadBytes, contents }) => ({
      wheel,
      downloadBytes,
      unpackedBytes: contents === undefined ? undefined : unpackedBytes(contents),
    })),
    present: present.map(({ wheel }) => wheel),
    machineFolders: [...new Set([...places.values()].flatMap((folders) => folders ?? []))],
    machineLibraries: present.flatMap(({ contents }) => libraryNames(contents ?? [])),
  };
}

/** Providers are never taken from the machine: they must lie beside our copy of the runtime. */
function placeOf(host: Host, { contents, wanted }: ResolvedWheel): string[] | undefined {
  if (contents === undefined || contents.some(({ folder }) => folder === 'runtime')) {
    return undefined;
  }
  return foldersOnMachine(host, libraryNames(contents), wanted);
}

/**
 * The most that is on the disk at any time: all that is unpacked, and one wheel.
 * @param runtimeBytes of ONNX Runtime's own library, which is copied in the end
 */
export function neededBytes(wheels: readonly PlannedWheel[], runtimeBytes: number): number {
  const unpacked = wheels.reduce((sum, one) => sum + (one.unpackedBytes ?? 0), 0);
  return unpacked + runtimeBytes + Math.max(0, ...wheels.map((one) => one.downloadBytes ?? 0));
}
