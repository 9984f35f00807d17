/** The only place that reads `process.env`. */
import { homedir, userInfo } from 'node:os';
import { resolve } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

export function readEnvironment(): Environment {
  return { ...process.env };
}

/**
 * For engines. glibc otherwise keeps what loading a model has freed, once per thread; with these,
 * large blocks go back to the system at once, which saves about 50 MB per engine. ONNX Runtime
 * would keep a device id and a store of events to send in the user's cache folder; it must not.
 */
export function engineEnvironment(): Environment {
  return {
    MALLOC_ARENA_MAX: '2',
    MALLOC_MMAP_THRESHOLD_: '262144',
    ORT_DISABLE_TELEMETRY: '1',
    ...process.env,
  };
}

/** Test doubles are refused everywhere else. */
export function isTestRun(environment: Environment = readEnvironment()): boolean {
  return environment['NODE_ENV'] === 'test';
}

/**
 * `undefined` where the user has none: in containers it is often a mere number.
 * @param places where to look; a variable that is empty does not count
 */
export function homeFolder(
  places: readonly (() => string)[] = [homedir, () => userInfo().homedir],
): string | undefined {
  for (const place of places) {
    try {
      const folder = place();
      if (folder !== '') return folder;
    } catch {
      // Nobody knows this user here.
    }
  }
  return undefined;
}

/**
 * Where this user's programs keep what can be made again, unless it is set.
 * @param setting `cache_dir`. Absolute, since processes with another working folder use it, too.
 */
export function cacheFolderFor(
  setting: string,
  { XDG_CACHE_HOME: xdg, LOCALAPPDATA: local }: Environment = readEnvironment(),
  home: () => string | undefined = homeFolder,
): string {
  return setting === '' ? ownFolder(xdg, local, home, ['.cache'], 'cache_dir') : resolve(setting);
}

/** Where this user's programs keep what must not be lost. */
export function defaultDataFolder(
  { XDG_DATA_HOME: xdg, LOCALAPPDATA: local }: Environment = readEnvironment(),
  home: () => string | undefined = homeFolder,
): string {
  return ownFolder(xdg, local, home, ['.local', 'share'], 'data_dir');
}

/** @throws an Error that names the setting where nothing says where the folder is */
function ownFolder(
  xdg: string | undefined,
  local: string | undefined,
  home: () => string | undefined,
  below: readonly string[],
  setting: string,
): string {
  if (xdg !== undefined && xdg !== '') return resolve(xdg, 'shoal');
  if (local !== undefined) return resolve(local, 'shoal');
  const folder = home();
  if (folder !== undefined) return resolve(folder, ...below, 'shoal');
  const variable = `SHOAL_${setting.toUpperCase()}`;
  throw new Error(`this user has no home folder; set ${setting} (${variable})`);
}

/**
 * `TEST_DEVICES=cuda:0,cuda:1,webgpu`: the devices of this machine, whatever is really there.
 * `TEST_PROBE_MS`: how long one may take to show that it works. Only in test runs.
 */
export function testDevices(environment: Environment = readEnvironment()): {
  readonly devices?: readonly { readonly name: string; readonly index: number }[];
  readonly probeMs?: number;
} {
  const { TEST_DEVICES: listed, TEST_PROBE_MS: probeMs } = environment;
  if (!isTestRun(environment)) return {};
  const devices = listed?.split(',').map((entry) => {
    const [name = '', index = '0'] = entry.split(':');
    return { name, index: Number(index) };
  });
  return {
    ...(devices && { devices }),
    ...(probeMs !== undefined && { probeMs: Number(probeMs) }),
  };
}

/** `TEST_FAILPOINTS=name:0.01,…`: how likely each is to kill the process. Only in test runs. */
export function failpointChances(
  environment: Environment = readEnvironment(),
): ReadonlyMap<string, number> {
  if (!isTestRun(environment)) return new Map();
  const entries = (environment['TEST_FAILPOINTS'] ?? '').split(',').filter((entry) => entry !== '');
  return new Map(
    entries.map((entry) => {
      const [name = '', chance = '1'] = entry.split(':');
      return [name, Number(chance)];
    }),
  );
}
