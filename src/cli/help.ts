import { OPTIONS } from '../config/options.js';

export function generalHelp(): string {
  return `Usage: shoal <command> [options]

Commands:
  serve [model]   serve the bundled model, an .onnx file or a folder of model packages
  bench [url]     measure a running server at given rates, or find its capacity
  tune [model]    search the best plan for a model on this machine

  shoal <command> --help says more.   shoal --version prints the version.`;
}

export function serveHelp(): string {
  const options = OPTIONS.filter(({ isFileOnly }) => !isFileOnly).map(
    ({ flag, kind, placeholder, default: value, description }) => {
      const name = kind === 'boolean' ? `--${flag}` : `--${flag} <${placeholder}>`;
      return `  ${name}\n      ${description.replaceAll('`', '')} Default: ${shown(value)}.`;
    },
  );
  return `Usage: shoal serve [model] [options]

Serves a detector over HTTP. [model] is an .onnx file with shoal.json beside it, a package folder,
or a folder of packages; without it the bundled SSDLite MobileNetV2 (COCO, 80 labels) is served.

Every option can also be set in shoal.config.json or .yaml (with underscores) or in the environment
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
