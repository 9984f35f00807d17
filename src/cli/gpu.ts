import { cacheFolderFor, homeFolder, readEnvironment } from '../config/environment.js';
import { ConfigError, loadConfig } from '../config/load.js';
import { type Host, thisHost } from '../gpu/host.js';
import { explainDiskError } from '../gpu/install/disk-problems.js';
import { type InstallEvents, installCuda } from '../gpu/install/install.js';
import { installPlatform } from '../gpu/install/platform.js';
import { uninstallCuda } from '../gpu/install/uninstall.js';
import { Web } from '../gpu/net/web.js';
import { otherVersions } from '../gpu/other-versions.js';
import { providerLibraries } from '../gpu/provider-libraries.js';
import { findGpus } from '../gpu/report.js';
import { askNvidiaSmi } from '../gpu/smi.js';
import { indexUrls } from '../gpu/wheels/index-config.js';
import { type GpuArgs, parseGpuArgs } from './gpu-args.js';
import { GPU_HELP } from './gpu-help.js';
import { InstallProgress } from './gpu-progress.js';
import { othersText, planText, reportText, size, waitingText } from './gpu-text.js';
import { count } from './words.js';

/** `shoal gpu`: what there is to run models on, and installing what is missing. */
export async function gpu(args: string[]): Promise<void> {
  const parsed = parseGpuArgs(args);
  if (parsed === 'help') {
    console.log(GPU_HELP);
    return;
  }
  const cacheFolder = cacheFolderOf(parsed);
  try {
    if (parsed.action === 'show') await show(cacheFolder, parsed.isJson);
    else if (parsed.action === 'install') await install(parsed, cacheFolder);
    else await uninstall(cacheFolder);
  } catch (error) {
    throw explainDiskError(error, cacheFolder);
  }
}

/** The same as that of `shoal serve`, which is to find what is installed. */
function cacheFolderOf({ cacheDir }: GpuArgs): string {
  if (cacheDir !== undefined) return cacheFolderFor(cacheDir);
  // Where a server would listen does not matter here.
  const config = loadConfig({ environment: readEnvironment(), flags: { insecure: true } });
  return cacheFolderFor(config.cache_dir);
}

async function show(cacheFolder: string, isJson: boolean): Promise<void> {
  const report = await findGpus(thisHost(), cacheFolder, askNvidiaSmi);
  console.log(isJson ? JSON.stringify(report, undefined, 2) : reportText(report));
}

async function install(args: GpuArgs, cacheFolder: string): Promise<void> {
  // These separate the folders of a library path.
  if (/[:;]/.test(cacheFolder))
    throw new ConfigError('the cache folder must not contain ":" or ";"');
  const host = thisHost();
  // Without one there is no pip.conf of the user either.
  const urls = indexUrls(host, homeFolder() ?? '/', args);
  const { HTTPS_PROXY, https_proxy } = host.environment;
  const progress = new InstallProgress({
    isTTY: process.stderr.isTTY,
    columns: process.stderr.columns,
    write: (text) => process.stderr.write(text),
  });
  const web = new Web({
    indexUrls: urls,
    hasProxy: (HTTPS_PROXY ?? https_proxy ?? '') !== '',
    onRetry: (problem, delayMs) => {
      progress.say(`  ${problem}; trying again in ${String(delayMs / 1000)} s`);
    },
  });
  const { isAll, isDryRun } = args;
  const platform = installPlatform(host);
  const options = { host, platform, cacheFolder, web, indexUrls: urls, isAll, isDryRun };
  const outcome = await installCuda(options, eventsFor(progress));
  if (outcome === 'planned') return;
  if (outcome === 'present') {
    console.log(`CUDA is installed already in ${cacheFolder}; shoal gpu says more`);
  } else {
    const bytes = outcome.files.reduce((sum, file) => sum + file.bytes, 0);
    console.log(`CUDA is installed: ${size(bytes)} in ${cacheFolder}`);
    const others = otherVersions(host, cacheFolder);
    if (others.length > 0) console.log(othersText(others));
  }
  await sayMissing(host, cacheFolder);
}

/** What an engine would not find yet, such as the driver while an image is built. */
async function sayMissing(host: Host, cacheFolder: string): Promise<void> {
  const libraries = await providerLibraries(host, cacheFolder);
  const missing = libraries.filter(({ path }) => path === undefined).map(({ name }) => name);
  if (missing.length > 0) console.log(`not found yet: ${missing.join(', ')}${driverHint(missing)}`);
}

function driverHint(missing: readonly string[]): string {
  return missing.includes('libcuda.so.1') ? ' (libcuda.so.1 comes with the NVIDIA driver)' : '';
}

function eventsFor(progress: InstallProgress): InstallEvents {
  return {
    onPlan: (plan) => {
      console.log(planText(plan));
    },
    onWait: (pid) => {
      progress.say(waitingText(pid));
    },
    onKept: (packages) => {
      progress.say(`  ${count(packages, 'package')} left by an earlier attempt`);
    },
    onSkip: (problem) => {
      progress.say(`  left out: ${problem}`);
    },
    onDownload: (wheel, bytes, total) => {
      progress.downloading(wheel, bytes, total);
    },
    onUnpack: (wheel, bytes, total) => {
      progress.unpacking(wheel, bytes, total);
    },
    onWheelDone: (wheel) => {
      progress.done(wheel);
    },
  };
}

async function uninstall(cacheFolder: string): Promise<void> {
  const freed = await uninstallCuda(thisHost(), cacheFolder, (pid) => {
    console.error(waitingText(pid));
  });
  console.log(
    freed === 0
      ? 'CUDA is not installed'
      : `CUDA is removed, for all versions of ONNX Runtime; ${size(freed)} are free`,
  );
}
