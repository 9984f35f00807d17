import { flagOf, type Option, OPTIONS } from '../config/options.js';

/** A worker is there to run jobs. */
export const NOT_OF_WORKERS = ['worker'];

export function generalHelp(): string {
  return `Usage: shoal <command> [options]

Commands:
  serve [model]   serve the bundled model, an .onnx file or a folder of model packages
  worker [model]  run jobs from a queue that is shared over Redis, without an API
  bench [url]     measure a running server at given rates, or find its capacity
  tune [model]    search the best plan for a model on this machine
  jobs <what>     submit images to be answered later, and look after such jobs
  gpu [install]   say what models can run on here, and install what NVIDIA GPUs need

  shoal <command> --help says more.   shoal --version prints the version.`;
}

export function serveHelp(): string {
  return `Usage: shoal serve [model] [options]

Serves a detector over HTTP. [model] is an .onnx file with shoal.json beside it, a package folder,
or a folder of packages; without it the bundled SSDLite MobileNetV2 (COCO, 80 labels) is served.

${optionsHelp()}`;
}

export function workerHelp(): string {
  return `Usage: shoal worker [model] [options]

Runs jobs that servers have taken (POST /jobs), for as many workers as you like on as many machines
as you like. They share a queue in Redis: give servers and workers the same --queue redis://… and
the same models. A worker takes no requests; on its --port it answers /health, /livez, /readyz and
/metrics. Servers that shall leave all jobs to workers are started with --no-worker.

${optionsHelp(NOT_OF_WORKERS)}`;
}

/** The settings that are flags, the same whatever a process does. */
export function optionsOf(left: readonly string[]): readonly Option[] {
  return OPTIONS.filter(({ flag, isFileOnly }) => !isFileOnly && !left.includes(flag));
}

/** @param left what this command does not have */
function optionsHelp(left: readonly string[] = []): string {
  const options = optionsOf(left).map((option) => {
    const { kind, placeholder, default: value, description, without } = option;
    const name = kind === 'boolean' ? flagOf(option) : `${flagOf(option)} <${placeholder}>`;
    const words = without ?? `${description} Default: ${shown(value)}.`;
    return `  ${name}\n      ${words.replaceAll('`', '')}`;
  });
  return `Every option can also be set in shoal.config.json or .yaml (with underscores) or in the environment
(SHOAL_ and capitals, e.g. SHOAL_PORT). Flags win over the environment, that over the file.

Options:
  --config <file>
      The config file. Default: shoal.config.json, .yaml or .yml in this folder.
${options.join('\n')}
  --help
      Print this.`;
}

export function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(',');
  return value === '' ? 'none' : String(value);
}
