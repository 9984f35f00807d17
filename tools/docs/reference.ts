import { shown } from '../../src/cli/help.js';
import { flagOf, OPTIONS } from '../../src/config/options.js';
import { MODEL_SETTING_KEYS, TenantSchema } from '../../src/config/schema.js';
import { METRICS, type MetricSpec } from '../../src/telemetry/catalog.js';

/** The pages that are written from the code, so that they cannot disagree with it. */
export const REFERENCE_PAGES: Readonly<Record<string, () => string>> = {
  'docs/configuration.md': configurationPage,
  'docs/metrics.md': metricsPage,
};

const escape = (text: string): string => text.replaceAll('|', '\\|');

function configurationPage(): string {
  const rows = OPTIONS.map((option) => {
    const { key, env, placeholder, default: value, description, isFileOnly } = option;
    const outside = isFileOnly ? 'config file only' : `\`${flagOf(option)}\`, \`${env}\``;
    const cells = [`\`${key}\``, outside, placeholder, shown(value), description];
    return `| ${cells.map(escape).join(' | ')} |`;
  });
  return `# Configuration

<!-- Written by \`npm run docs\` from src/config/schema.ts. -->

Defaults < config file < environment < flags. The config file is \`shoal.config.json\`, \`.yaml\` or
\`.yml\` in the working folder, or the one named by \`--config\` or \`SHOAL_CONFIG\`. Unknown settings
are refused, values are checked at start. Names that end in \`_ms\` are milliseconds, in \`_bytes\`
bytes.

| setting | flag and variable | values | default | meaning |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

## Several models

\`shoal serve DIR\` serves every model package in a folder. The config file can also name them one by
one, each with settings of its own (${MODEL_SETTING_KEYS.map((key) => `\`${key}\``).join(', ')}).
A \`path\` that is not absolute starts at the folder of the config file:

\`\`\`yaml
default_model: ssdlite-mobilenet-v2
models:
  - path: models/ssdlite-mobilenet-v2
  - path: other/detector
    sessions: 1
    max_queue: 16
\`\`\`

## Several clients

Every key in \`api_keys\` is a tenant (\`key-1\`, \`key-2\`, … in logs and metrics). Tenants that need
a name, a weight or limits of their own stand in the config file; what they leave out is as
\`key_rate\`, \`key_concurrency\` and \`key_queue_share\` say. [admission.md](admission.md) says what
becomes of it.

\`\`\`yaml
tenants:
  - name: shop
    api_key: a-secret-of-the-shop
    weight: 3 # three times the share of others, when several wait
    rate: 50 # requests per second, a second's worth at once
    concurrency: 16 # requests in work at once
    queue_share: 0.5 # of max_queue
  - name: nightly
    api_key: a-secret-of-the-job
    priority: background # unless a request says X-Priority: interactive
    webhook_secret: whsec_… # signs the call-backs of its jobs, instead of webhook_secrets
\`\`\`

| of a tenant | values |
| --- | --- |
${tenantRows().join('\n')}

\`rate\` (and \`key_rate\`) counts predict requests and everything under \`/jobs\`; \`concurrency\` (and
\`key_concurrency\`) counts predict requests and the submission of jobs, not the jobs themselves. Other routes are not
counted.

## Model packages

A model package is a folder with \`model.onnx\` and \`shoal.json\`, and \`model.fp16.onnx\` where there is the same model
with half the precision (see \`precision\`). A file of another name works as well: \`shoal serve other.onnx\` looks for
\`shoal.json\` and \`other.fp16.onnx\` beside it.

\`\`\`json
{
  "name": "detector",
  "description": "People and bicycles, trained in May",
  "head": "ssd",
  "input": { "width": 300, "height": 300 },
  "labels": ["person", "bicycle"]
}
\`\`\`

The head \`ssd\` expects an input of uint8 \`[N, height, width, 3]\` (RGB) and the outputs \`boxes\`
\`[N, K, 4]\` (x1, y1, x2, y2 in 0..1), \`scores\` \`[N, K]\` and \`classes\` \`[N, K]\` (int32, from 0),
with a dynamic N. \`name\` (that of the folder when it is missing) is what the model is called in URLs and metrics,
\`description\` is shown by \`GET /models\`; the other three are needed.
`;
}

function tenantRows(): string[] {
  return Object.entries(TenantSchema.properties).map(
    ([key, schema]) => `| \`${key}\` | ${escape(valuesOf(schema as unknown as TenantValue))} |`,
  );
}

interface TenantValue {
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

function valuesOf(value: TenantValue): string {
  if (value.enum !== undefined) return value.enum.join('|');
  if (value.pattern !== undefined) return `\`${value.pattern}\``;
  if (value.minLength !== undefined) return `text, at least ${String(value.minLength)} characters`;
  const { minimum, exclusiveMinimum, maximum } = value;
  return minimum === undefined
    ? `above ${String(exclusiveMinimum)}, up to ${String(maximum)}`
    : `${String(minimum)}..${String(maximum)}`;
}

function metricsPage(): string {
  const rows = Object.entries(METRICS as Record<string, MetricSpec>).map(
    ([name, { type, labels, buckets, help }]) => {
      const notes = buckets === undefined ? help : `${help} Buckets: ${buckets.join(' ')}.`;
      const cells = [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(', '), notes];
      return `| ${cells.map(escape).join(' | ')} |`;
    },
  );
  return `# Metrics

<!-- Written by \`npm run docs\` from src/telemetry/catalog.ts. -->

\`GET /metrics\` in the Prometheus text format. Names, types and buckets of the first three are
promised. Labels are closed lists: \`model\` is one of the models loaded at start, \`outcome\` of
requests is one of ok, invalid, rejected, cancelled, unavailable, deadline and error.

| name | type | labels | meaning |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}
