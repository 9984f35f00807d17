import { type Static, Type } from 'typebox';
import { ERRORS } from '../errors.js';
import type { Detection } from '../heads/detection.js';

/** The schemas that validate, that give the types, and that the OpenAPI document shows. */

export const DEFAULT_THRESHOLD = 0.5;
const threshold = Type.Number({
  minimum: 0,
  maximum: 1,
  default: DEFAULT_THRESHOLD,
  description: 'Detections below this confidence are left out.',
});

/** What a predict request says besides the image. */
export const PredictOptions = Type.Object(
  { confidence_threshold: Type.Optional(threshold) },
  { additionalProperties: false },
);
export type PredictOptions = Static<typeof PredictOptions>;

export const PredictJson = Type.Object(
  {
    image_b64: Type.String({
      description: 'A JPEG, PNG or WebP file as base64, with or without a data: URL prefix.',
    }),
    confidence_threshold: Type.Optional(threshold),
  },
  { additionalProperties: false },
);

/** What a job says besides its images. */
export const JobOptions = Type.Object(
  {
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    confidence_threshold: Type.Optional(threshold),
    priority: Type.Optional(
      Type.Enum(['high', 'normal', 'low'], { description: 'Among the jobs of one model.' }),
    ),
    expires_in: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2_592_000,
        description: 'Seconds after which it is dropped if it is not finished.',
      }),
    ),
    webhook_url: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2048, description: 'Is called when it has ended.' }),
    ),
  },
  { additionalProperties: false },
);
export type JobOptions = Static<typeof JobOptions>;

/** Which ids of callers are harmless in logs and headers. */
export const REQUEST_ID = '^[A-Za-z0-9_.:-]{1,128}$';

export const PredictHeaders = Type.Object({
  'x-timeout-ms': Type.Optional(
    Type.Integer({ minimum: 1, maximum: 3_600_000, description: 'When the answer is too late.' }),
  ),
  'x-priority': Type.Optional(
    Type.Enum(['interactive', 'background'], {
      description: 'Background work runs when nothing interactive waits.',
    }),
  ),
  'x-request-id': Type.Optional(
    Type.String({
      pattern: REQUEST_ID,
      description:
        'Comes back in the answer; send it again with a retry. Any other text is replaced by a fresh id.',
    }),
  ),
});

export const PredictForm = Type.Object({
  image: Type.String({ format: 'binary', description: 'A JPEG, PNG or WebP file.' }),
  confidence_threshold: Type.Optional(threshold),
});

export const Detections = Type.Array(
  Type.Object({
    label: Type.String(),
    confidence: Type.Number(),
    bbox: Type.Array(Type.Number(), {
      minItems: 4,
      maxItems: 4,
      description: 'x1, y1, x2, y2 in pixels of the upright image.',
    }),
  }),
  { description: 'Highest confidence first.' },
);

export const PredictResponse = Type.Object({
  detections: Detections,
  inference_ms: Type.Number({ description: 'How long the batch with this image ran.' }),
});

export interface PredictResponse {
  readonly detections: readonly Detection[];
  readonly inference_ms: number;
}

export const ModelParams = Type.Object({ name: Type.String() });

export const ModelResponse = Type.Object({
  name: Type.String(),
  description: Type.Optional(Type.String()),
  is_default: Type.Boolean(),
  status: Type.Enum(['ready', 'starting']),
  provider: Type.String({ description: 'What the model really runs on.' }),
  device: Type.String({ description: 'What was chosen for it, or set.' }),
  device_index: Type.Array(Type.Integer(), {
    description: 'Which of several GPUs; each has an engine of its own.',
  }),
  precision: Type.Enum(['fp32', 'fp16']),
  head: Type.String(),
  input: Type.Object({ width: Type.Integer(), height: Type.Integer() }),
  labels: Type.Array(Type.String()),
  plan: Type.Object({
    sessions: Type.Integer(),
    threads: Type.Integer(),
    max_batch: Type.Integer(),
    wide_threads: Type.Integer({
      description: 'Threads of one more session for images that come alone; 0 without one.',
    }),
    wide_session_bytes: Type.Optional(
      Type.Integer({ description: 'What that costs: another copy of the weights.' }),
    ),
    max_concurrent: Type.Integer(),
    batching: Type.String(),
    window_ms: Type.Number(),
    images_per_second: Type.Optional(
      Type.Number({ description: 'What all sessions are expected to reach together.' }),
    ),
    why: Type.String(),
    warnings: Type.Array(Type.String()),
  }),
  profile: Type.Optional(
    Type.Object(
      {
        depth: Type.Enum(['quick', 'full']),
        measured_at: Type.String(),
        decode_ms: Type.Number({ description: 'What decoding an ordinary photo takes.' }),
        splits: Type.Array(
          Type.Object({
            sessions: Type.Integer(),
            threads: Type.Integer(),
            curve: Type.Array(
              Type.Object({
                batch: Type.Integer(),
                ms: Type.Number({
                  description: 'Median time of a batch, all sessions at work, without decoding.',
                }),
                images_per_second: Type.Number({
                  description: 'All sessions together, with decoding of ordinary photos.',
                }),
                memory_bytes: Type.Integer({ description: 'Resident, of the whole engine.' }),
              }),
            ),
          }),
        ),
      },
      { description: 'What was measured; absent when nothing was.' },
    ),
  ),
  limits: Type.Object({
    max_wait_ms: Type.Number(),
    max_queue: Type.Integer(),
    max_queue_bytes: Type.Integer(),
    max_image_bytes: Type.Integer(),
    max_pixels: Type.Integer(),
    max_decode_bytes: Type.Integer(),
    timeout_ms: Type.Integer(),
  }),
});
export type ModelResponse = Static<typeof ModelResponse>;

export const ModelListResponse = Type.Object({ models: Type.Array(ModelResponse) });

export const HealthResponse = Type.Object({
  status: Type.Enum(['ok', 'unavailable', 'draining']),
  detail: Type.Optional(
    Type.String({ description: 'What is wrong, even if something can still be served.' }),
  ),
  version: Type.String(),
  uptime_s: Type.Number(),
  models: Type.Array(
    Type.Object({
      name: Type.String(),
      queue_depth: Type.Integer(),
      in_flight: Type.Integer(),
      engine: Type.Object({
        status: Type.Enum(['ready', 'starting']),
        provider: Type.String(),
        device: Type.String({ description: 'With its number where there can be several.' }),
        restarts: Type.Integer(),
        memory_bytes: Type.Integer(),
      }),
    }),
  ),
  jobs: Type.Optional(
    Type.Object(
      {
        store: Type.Enum(['embedded', 'redis']),
        status: Type.Enum(['ok', 'unavailable']),
        detail: Type.Optional(Type.String()),
        worker: Type.Boolean({ description: 'Whether jobs are run here, and not only taken.' }),
        queued: Type.Integer(),
        running: Type.Integer(),
        oldest_waiting_s: Type.Number(),
        webhooks_pending: Type.Integer(),
      },
      { description: 'Absent when jobs are switched off.' },
    ),
  ),
  gpus: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'As the tools of its vendor count.' }),
      name: Type.String(),
      memory_used_bytes: Type.Optional(
        Type.Integer({ description: 'By all processes; absent when it was never known.' }),
      ),
      memory_total_bytes: Type.Optional(Type.Integer()),
      memory_own_bytes: Type.Optional(
        Type.Integer({ description: 'By engines of this server; absent when it is not known.' }),
      ),
      utilization: Type.Optional(
        Type.Number({ description: 'Share of the time in which it computed, 0 to 1.' }),
      ),
      memory_high: Type.Boolean({ description: 'More is in use than `gpu_memory_high`.' }),
      stale: Type.Boolean({ description: 'Nobody says how it is now; the numbers are old.' }),
      models: Type.Array(Type.String(), { description: 'Those that run on it.' }),
    }),
    { description: 'Those that models run on.' },
  ),
});
export type HealthResponse = Static<typeof HealthResponse>;

export const ReadyQuery = Type.Object({
  only: Type.Optional(
    Type.Enum(['predict'], {
      description: 'Leaves jobs out, for balancers that only send predict requests.',
    }),
  ),
});

export const StatusResponse = Type.Object({ status: Type.String() });

export const ProblemResponse = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  code: Type.Enum(Object.keys(ERRORS)),
  detail: Type.String(),
  request_id: Type.Optional(Type.String()),
});
