import { type Static, type TSchema, Type } from 'typebox';
import { DEVICES, type DeviceName } from './devices.js';
import { jobSettings, WEBHOOK_SECRET } from './job-settings.js';
import { auto, integer, KiB, MiB } from './kinds.js';

/** Settings that every model may have for itself in the config file. */
const modelSettings = {
  device: Type.Enum(['auto', ...DEVICES], {
    default: 'auto',
    description:
      'What the model runs on. `auto`: the fastest that really works here and agrees with the CPU. Any other is used or the server does not start.',
  }),
  device_index: Type.String({
    pattern: '^(auto|\\d{1,2}(,\\d{1,2})*)$',
    placeholder: 'auto|0|0,1,…',
    default: 'auto',
    description:
      'Which of several GPUs, as `0` or `0,1`. Each has an engine of its own, and they share one queue. `auto`: all.',
  }),
  precision: Type.Enum(['auto', 'fp32', 'fp16'], {
    default: 'auto',
    description:
      'fp16 needs `model.fp16.onnx` beside the model. `auto`: on a GPU where it is faster and finds the same as fp32, but not with CUDA, which takes long to prepare it.',
  }),
  sessions: auto(1, 64, 'ONNX Runtime sessions, each on a thread of its own. `auto`: as measured.'),
  threads: auto(1, 64, 'Threads per session. `auto`: as measured.'),
  wide_session: Type.Enum(['auto', 'off'], {
    default: 'auto',
    description:
      'One more session with all cores, for images that come alone. `auto`: where measurements say that it pays.',
  }),
  max_batch: auto(1, 256, 'The most images that run together. `auto`: as measured.'),
  profile: Type.Enum(['quick', 'full', 'off'], {
    default: 'quick',
    description:
      'How the model is measured at its first start on a machine. `quick`: for about a second, and again later when nothing else is to do. `full`: thoroughly, before it serves. `off`: not at all.',
  }),
  slo_p99_ms: Type.Number({
    minimum: 0,
    maximum: 3_600_000,
    default: 0,
    description:
      'The answer time that 99 of 100 requests should stay below. Plan and admission keep to it. 0: none, the highest throughput.',
  }),
  batching: Type.Enum(['adaptive', 'fixed', 'off'], {
    default: 'adaptive',
    description:
      '`adaptive`: a free session takes what is ready and waits only when measurements say that it pays. `fixed`: collect for the whole window. `off`: one image at a time.',
  }),
  window_ms: Type.Number({
    minimum: 0,
    maximum: 10_000,
    default: 10,
    description: 'The longest that a ready image is held back to let a batch grow.',
  }),
  max_concurrent: auto(
    1,
    4096,
    'Images in an engine at once. `auto`: sessions × (max_batch + 1), and on a GPU four batches per session and three images for every thread that decodes.',
  ),
  max_wait_ms: auto(
    1,
    3_600_000,
    'A request that would wait longer than this for its turn is refused at once with 429. `auto`: 500, or four batches of a slow model. Background requests wait until their own deadline.',
  ),
  max_queue: integer(
    0,
    100_000,
    1000,
    'Images that wait for a place in the engine. More are refused with 429.',
  ),
  max_queue_bytes: integer(
    0,
    4096 * MiB,
    64 * MiB,
    'The most bytes of images that wait. More are refused with 429.',
  ),
};

export const ModelEntrySchema = Type.Object(
  {
    path: Type.String({
      description:
        'A model package (folder) or an `.onnx` file, from the folder of the config file.',
    }),
    ...Object.fromEntries(
      Object.entries(modelSettings).map(([key, schema]) => [
        key,
        Type.Optional(withoutDefault(schema)),
      ]),
    ),
  },
  { additionalProperties: false },
);

/** A client with a key of its own. What is left out is as for plain `api_keys`. */
export const TenantSchema = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,31}$' }),
    api_key: Type.String({ minLength: 8 }),
    weight: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1000 })),
    rate: Type.Optional(Type.Number({ minimum: 0, maximum: 1e6 })),
    concurrency: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })),
    queue_share: Type.Optional(Type.Number({ minimum: 0.01, maximum: 1 })),
    priority: Type.Optional(Type.Enum(['interactive', 'background'])),
    webhook_secret: Type.Optional(Type.String({ pattern: WEBHOOK_SECRET })),
  },
  { additionalProperties: false },
);

/**
 * Every setting, once: its type, range, default, unit and meaning. The config file, the
 * environment (`SHOAL_` + upper case), the flags (`--` + dashes), `--help` and
 * `docs/configuration.md` all come from here.
 */
export const ConfigSchema = Type.Object(
  {
    host: Type.String({
      default: '127.0.0.1',
      description: 'Address to listen on. Any other than loopback needs API keys (or `insecure`).',
    }),
    port: integer(0, 65_535, 8000, 'Port to listen on; 0 takes a free one.'),
    api_keys: Type.Array(Type.String({ minLength: 8 }), {
      default: [],
      description:
        'Keys that clients must send as `Authorization: Bearer` or `X-API-Key`. None: no key is asked for.',
    }),
    tenants: Type.Array(TenantSchema, {
      default: [],
      placeholder: 'see below',
      description:
        'More keys, each with a name, a weight and limits of its own (config file only).',
    }),
    key_rate: Type.Number({
      minimum: 0,
      maximum: 1e6,
      default: 0,
      description: 'Predict and job requests per second that a key may send. 0: no limit.',
    }),
    key_concurrency: integer(
      0,
      100_000,
      0,
      'Predict requests and submissions of jobs that a key may have in work. 0: no limit.',
    ),
    key_queue_share: Type.Number({
      minimum: 0.01,
      maximum: 1,
      default: 0.5,
      description: 'The share of the queue that one key may fill, where there are several keys.',
    }),
    insecure: Type.Boolean({
      default: false,
      description: 'Listen on a non-loopback address without API keys.',
    }),
    models: Type.Array(ModelEntrySchema, {
      default: [],
      placeholder: 'see below',
      description:
        'What to serve, with settings per model (config file only). None: the bundled model.',
    }),
    default_model: Type.String({
      default: '',
      description: 'The model behind `/predict`. Empty: the first one.',
    }),
    ...modelSettings,
    http_workers: auto(
      1,
      64,
      'Processes that receive requests, on one port and with one queue. `auto`: one, or with a GPU and at least eight cores one for every five.',
    ),
    gpu_memory_high: Type.Number({
      minimum: 0.1,
      maximum: 1,
      default: 0.95,
      description:
        'When more than this share of a GPU’s memory is in use, readiness goes off and predict requests are refused with 503. 1: never.',
    }),
    engine_memory_high: auto(
      64 * MiB,
      1024 * 1024 * MiB,
      'An engine that holds more memory than this many bytes, its own or on its GPU, is replaced without losing a request. `auto`: several times what it held after its start.',
    ),
    canary_ms: integer(
      0,
      3_600_000,
      30_000,
      'How often every engine is given a known picture; one that answers nonsense is replaced. 0: never.',
    ),
    max_image_bytes: integer(1 * KiB, 512 * MiB, 20 * MiB, 'The largest image file.'),
    max_pixels: integer(1, 1e9, 50_000_000, 'The largest image, width × height.'),
    max_decode_bytes: integer(
      1 * MiB,
      16_384 * MiB,
      256 * MiB,
      'Memory that decoding may take at once, estimated from the header. Progressive JPEG counts several times.',
    ),
    max_inflight_bytes: integer(
      1 * MiB,
      65_536 * MiB,
      256 * MiB,
      'Bytes of all requests that are being received or answered.',
    ),
    cache_dir: Type.String({
      default: '',
      description:
        'Where measurements and libraries for GPUs are kept. Empty: `shoal` in the cache folder of this user.',
    }),
    ...jobSettings,
    quarantine_ms: integer(
      0,
      86_400_000,
      600_000,
      'How long an image that has killed an engine twice is refused.',
    ),
    timeout_ms: integer(
      1,
      3_600_000,
      30_000,
      'How long a request may take when it does not say so itself (`X-Timeout-Ms`).',
    ),
    hang_timeout_ms: integer(
      100,
      3_600_000,
      10_000,
      'An engine that makes no progress for this long is killed and replaced, and so is an HTTP process that does not answer. While an engine loads it has three times as long to answer, and ten seconds at least; loading itself may take thirty times as long, and with TensorRT, which builds the model, 180 times. A batch that was measured to be slow may take five times as long as measured.',
    ),
    headers_timeout_ms: integer(
      100,
      600_000,
      10_000,
      'How long a client may take to send its headers.',
    ),
    body_timeout_ms: integer(
      100,
      3_600_000,
      60_000,
      'How long a client may take to send a whole request.',
    ),
    keep_alive_timeout_ms: integer(0, 3_600_000, 65_000, 'How long an idle connection is kept.'),
    max_connections: integer(1, 1_000_000, 4096, 'Open connections; more are closed at once.'),
    drain_delay_ms: integer(
      0,
      600_000,
      0,
      'How long new connections are still accepted after SIGTERM, for load balancers that are slow to notice.',
    ),
    grace_ms: integer(0, 3_600_000, 30_000, 'How long requests in flight may take after SIGTERM.'),
    log_level: Type.Enum(['silent', 'error', 'warn', 'info', 'debug'], {
      default: 'info',
      description: 'The least important lines that are written.',
    }),
    log_format: Type.Enum(['auto', 'json', 'pretty'], {
      default: 'auto',
      description: '`auto`: pretty on a terminal, JSON otherwise.',
    }),
  },
  { additionalProperties: false },
);

type AutoNumber = number | 'auto';

export interface ModelSettings {
  readonly device: 'auto' | DeviceName;
  readonly device_index: string;
  readonly precision: 'auto' | 'fp32' | 'fp16';
  readonly sessions: AutoNumber;
  readonly threads: AutoNumber;
  readonly wide_session: 'auto' | 'off';
  readonly max_batch: AutoNumber;
  readonly profile: 'quick' | 'full' | 'off';
  readonly slo_p99_ms: number;
  readonly batching: 'adaptive' | 'fixed' | 'off';
  readonly window_ms: number;
  readonly max_concurrent: AutoNumber;
  readonly max_wait_ms: AutoNumber;
  readonly max_queue: number;
  readonly max_queue_bytes: number;
}

export type ModelEntry = { readonly path: string } & Partial<ModelSettings>;

export type Config = Readonly<
  Omit<Static<typeof ConfigSchema>, keyof ModelSettings | 'models'> &
    ModelSettings & { models: readonly ModelEntry[] }
>;
export type ConfigKey = keyof Config;

export const MODEL_SETTING_KEYS = Object.keys(modelSettings) as (keyof ModelSettings)[];

function withoutDefault(schema: TSchema): TSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== 'default'));
}
