import type { GpuReport } from '../gpu/report.js';
import type { InstallPlan } from '../gpu/install/plan.js';
import type { OtherVersion } from '../gpu/other-versions.js';
import type { NvidiaGpu } from '../gpu/smi.js';
import { alignColumns } from '../load/table.js';
import { count } from './words.js';

/** Sizes as people read them. */
export function size(bytes: number): string {
  if (bytes >= 2 ** 30) return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  if (bytes >= 2 ** 20) return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  return `${(bytes / 2 ** 10).toFixed(0)} KiB`;
}

/** The report for a person: first what can be used, then what it was concluded from. */
export function reportText(report: GpuReport): string {
  const devices = report.devices.map(({ device, indexes, whyNot }) => {
    const several = indexes.length > 1 ? ` (${indexes.join(', ')})` : '';
    return [`  ${device}`, whyNot ?? `can be tried${several}`];
  });
  const findings = [
    ...nvidiaLines(report),
    ...cudaLines(report),
    ...vulkanLines(report),
    ...amdLines(report),
  ];
  return [
    `ONNX Runtime ${report.onnxRuntime} on ${report.system}`,
    '',
    'Devices',
    ...alignColumns(devices, [0, 1]),
    '',
    'Found',
    ...alignColumns(
      findings.map(([name, text]) => [`  ${name}`, text]),
      [0, 1],
    ),
  ].join('\n');
}

type Line = readonly [name: string, text: string];

function nvidiaLines({ nvidia }: GpuReport): Line[] {
  const { driver, libcuda, gpus, gpuCount, hasSmi } = nvidia;
  const version = driver ?? 'of unknown version';
  return [
    ['NVIDIA driver', libcuda === undefined ? 'none' : `${version}, ${libcuda}`],
    ...gpus.map((gpu): Line => [`GPU ${String(gpu.index)}`, `${gpu.name}${memoryText(gpu)}`]),
    ...(hasSmi || gpuCount === 0
      ? []
      : [['GPUs', `${count(gpuCount, 'NVIDIA GPU')} (no nvidia-smi to ask)`] as const]),
  ];
}

function memoryText({ totalBytes, usedBytes }: NvidiaGpu): string {
  if (totalBytes === undefined) return '';
  const used = usedBytes === undefined ? '' : `, of which ${size(usedBytes)} are in use`;
  return `, ${size(totalBytes)}${used}`;
}

function cudaLines({ cuda, onnxRuntime }: GpuReport): Line[] {
  const { installed, others, provider, libraries, toolkits } = cuda;
  const versions = others.map(({ version }) => version).join(', ');
  const none = others.length === 0 ? 'none' : `installed for ${versions}, not for ${onnxRuntime}`;
  const missing = libraries.filter(({ path }) => path === undefined).map(({ name }) => name);
  return [
    ['CUDA provider', provider ?? `${none}; shoal gpu install cuda fetches it`],
    ...(installed === undefined
      ? []
      : [
          [
            'CUDA libraries',
            `${count(installed.wheels.length, 'package')}, ${size(installed.bytes)}, in ${installed.folder}` +
              (installed.isComplete ? '' : ' (files are missing or damaged; install again)'),
          ] as const,
        ]),
    ...others.map((other): Line => [`CUDA for ${other.version}`, otherText(other)]),
    ...toolkits.map((folder): Line => ['CUDA toolkit', folder]),
    ...(missing.length === 0 ? [] : [['not found', missing.join(', ')] as const]),
  ];
}

function otherText({ folder, bytes }: OtherVersion): string {
  return `${size(bytes)}, in ${folder}; remove it if nothing uses it, or all versions with shoal gpu uninstall cuda`;
}

/** After an update, what the version before needed is still there. */
export function othersText(others: readonly OtherVersion[]): string {
  return others
    .map((other) => `CUDA for ONNX Runtime ${other.version} is still there: ${otherText(other)}`)
    .join('\n');
}

function vulkanLines({ vulkan, system }: GpuReport): Line[] {
  const { loader, drivers, needsOwnDriverFile } = vulkan;
  if (!system.startsWith('linux')) return [];
  return [
    ['Vulkan loader', loader ?? 'none'],
    ...drivers.map(({ path, library }): Line => [
      'Vulkan driver',
      `${path} (${library === '' ? 'not readable' : library})`,
    ]),
    ...(needsOwnDriverFile
      ? [
          [
            'Vulkan driver',
            'NVIDIA’s, by a driver file that engines get: there is no screen',
          ] as const,
        ]
      : []),
  ];
}

function amdLines({ amd }: GpuReport): Line[] {
  if (!amd.hasKernelDriver && amd.rocm === undefined) return [];
  return [['AMD GPU', `${amd.rocm === undefined ? 'no ROCm' : `ROCm in ${amd.rocm}`}; use webgpu`]];
}

/** A lock that is just being made does not say yet whose it is. */
export function waitingText(pid: number | undefined): string {
  const who = pid === undefined ? 'another process' : `process ${String(pid)}`;
  return `waiting for ${who}, which is installing`;
}

/** What is going to be downloaded. */
export function planText(plan: InstallPlan): string {
  const shown = (bytes: number | undefined): string => (bytes === undefined ? '?' : size(bytes));
  const total = (all: readonly (number | undefined)[]): string => {
    const known = all.filter((bytes) => bytes !== undefined);
    const sum = known.reduce((before, bytes) => before + bytes, 0);
    if (known.length === all.length) return size(sum);
    return known.length === 0 ? '?' : `at least ${size(sum)}`;
  };
  const rows = plan.wheels.map(({ wheel, downloadBytes, unpackedBytes }) => [
    `  ${wheel.name}`,
    wheel.version,
    shown(downloadBytes),
    shown(unpackedBytes),
  ]);
  const present = plan.present.map(({ name }) => name);
  return [
    `CUDA for ONNX Runtime ${plan.runtimeVersion}`,
    ...alignColumns(
      [
        ['  package', 'version', 'download', 'unpacked'],
        ...rows,
        [
          `  ${count(plan.wheels.length, 'package')}`,
          '',
          total(plan.wheels.map((one) => one.downloadBytes)),
          total(plan.wheels.map((one) => one.unpackedBytes)),
        ],
      ],
      [0, 1],
    ),
    ...(present.length === 0
      ? []
      : [
          `  left out, since the machine has them: ${present.join(', ')}`,
          `  (in ${plan.machineFolders.join(', ') || 'folders that the loader knows'}; --all fetches them, too)`,
        ]),
  ].join('\n');
}
