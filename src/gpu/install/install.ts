import { rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { download } from '../net/download.js';
import type { Web } from '../net/web.js';
import { makeFolder } from '../../config/make-folder.js';
import type { Host } from '../host.js';
import {
  installFolders,
  type InstallRecord,
  isComplete,
  isSelfContained,
} from '../installation.js';
import { packageLibraries, RUNTIME_LIBRARY } from '../runtime-files.js';
import type { Wheel } from '../wheels/package-index.js';
import type { Platform } from '../wheels/wheel-name.js';
import { type CheckHeld, withLock } from './lock.js';
import { type InstallPlan, neededBytes, type PlannedWheel, planInstall } from './plan.js';
import { Staging } from './staging.js';

export interface InstallOptions {
  readonly host: Host;
  readonly platform: Platform;
  readonly cacheFolder: string;
  readonly web: Web;
  readonly indexUrls: readonly string[];
  readonly isAll: boolean;
  readonly isDryRun: boolean;
}

/** What a person likes to see of it. */
export interface InstallEvents {
  onPlan(plan: InstallPlan): void;
  onWait(pid: number | undefined): void;
  /** So many packages were unpacked by an attempt that broke off. */
  onKept(packages: number): void;
  /** An index gave no answer, but another one did. */
  onSkip(problem: string): void;
  onDownload(wheel: Wheel, bytes: number, total: number | undefined): void;
  onUnpack(wheel: Wheel, bytes: number, total: number | undefined): void;
  onWheelDone(wheel: Wheel): void;
}

/** What was there before wins over a plan: what works need not be replaced. */
export type InstallOutcome = 'present' | 'planned' | InstallRecord;

/** Fetches ONNX Runtime's CUDA provider and NVIDIA's libraries into the cache folder. */
export async function installCuda(
  options: InstallOptions,
  events: InstallEvents,
): Promise<InstallOutcome> {
  const { host, cacheFolder, isAll, isDryRun } = options;
  const isDone = (): boolean => (isAll ? isSelfContained : isComplete)(host, cacheFolder);
  if (isDone()) return 'present';
  if (isDryRun) {
    const staging = new Staging(installFolders(host, cacheFolder));
    const fetchWhole = (wheel: Wheel): Promise<never> =>
      Promise.reject(
        new Error(
          `the index lets nobody look into ${wheel.file.filename}: no plan without download`,
        ),
      );
    events.onPlan(
      await planInstall({
        ...options,
        fetchWhole,
        recall: (wheel) => staging.recall(wheel),
        onSkip: (problem) => {
          events.onSkip(problem);
        },
      }),
    );
    return 'planned';
  }
  const { root } = installFolders(host, cacheFolder);
  await makeFolder(dirname(root));
  return withLock(
    join(dirname(root), 'install.lock'),
    (pid) => {
      events.onWait(pid);
    },
    // Whoever held the lock may have done it.
    async (checkHeld) => (isDone() ? 'present' : install(options, events, checkHeld)),
  );
}

async function install(
  options: InstallOptions,
  events: InstallEvents,
  checkHeld: CheckHeld,
): Promise<InstallRecord> {
  const { host, cacheFolder } = options;
  const folders = installFolders(host, cacheFolder);
  await makeFolder(folders.downloads);
  const fetch = (wheel: Wheel, total: number | undefined): Promise<string> =>
    fetchWheel(options.web, folders.downloads, wheel, total, events);
  const staging = new Staging(folders);
  const plan = await planInstall({
    ...options,
    fetchWhole: (wheel) => fetch(wheel, wheel.file.bytes),
    recall: (wheel) => staging.recall(wheel),
    onSkip: (problem) => {
      events.onSkip(problem);
    },
  });
  events.onPlan(plan);
  const wheels = plan.wheels.map(({ wheel }) => wheel);
  await staging.begin(wheels);
  const missing: PlannedWheel[] = [];
  for (const one of plan.wheels) if (!(await staging.isUnpacked(one.wheel))) missing.push(one);
  if (missing.length < wheels.length) events.onKept(wheels.length - missing.length);
  const library = join(packageLibraries(host), RUNTIME_LIBRARY);
  await checkSpace(folders.downloads, missing, library);
  for (const { wheel, downloadBytes, unpackedBytes } of missing) {
    const path = await fetch(wheel, downloadBytes);
    await checkHeld();
    let unpacked = 0;
    await staging.unpack(wheel, path, (bytes) => {
      unpacked += bytes;
      events.onUnpack(wheel, unpacked, unpackedBytes);
    });
    await rm(path);
    events.onWheelDone(wheel);
  }
  await checkHeld();
  const record = await staging.finish(plan, library);
  await rm(folders.downloads, { recursive: true, force: true });
  return record;
}

async function fetchWheel(
  web: Web,
  folder: string,
  wheel: Wheel,
  total: number | undefined,
  events: InstallEvents,
): Promise<string> {
  const { url, sha256, filename } = wheel.file;
  const partPath = join(folder, `${sha256.slice(0, 16)}-${filename}.part`);
  const onProgress = (bytes: number): void => {
    events.onDownload(wheel, bytes, total);
  };
  await download(web, { url, sha256, bytes: total, partPath, onProgress });
  return partPath;
}

async function checkSpace(
  folder: string,
  wheels: readonly PlannedWheel[],
  library: string,
): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const { size } = await stat(library);
  const message = lackOfSpace(neededBytes(wheels, size), bavail * bsize, folder);
  if (message !== undefined) throw new Error(message);
}

export function lackOfSpace(needed: number, free: number, folder: string): string | undefined {
  if (needed <= free) return undefined;
  const gibibytes = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);
  return (
    `${gibibytes(needed)} GiB are needed in ${folder}, ${gibibytes(free)} GiB are free; ` +
    'make room or choose another folder with --cache-dir'
  );
}
