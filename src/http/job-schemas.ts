import { Type } from 'typebox';
import { JOB_PRIORITIES, JOB_STATES } from '../jobs/job.js';
import { Detections, JobOptions, ProblemResponse } from './schemas.js';

/** What `/jobs` takes and answers. */

const file = Type.String({ format: 'binary', description: 'A JPEG, PNG or WebP file.' });
const base64 = Type.String({ description: 'A JPEG, PNG or WebP file as base64.' });

/** One image or a list of them, and the options. */
export const JobJson = Type.Object(
  {
    image_b64: Type.Optional(base64),
    images_b64: Type.Optional(Type.Array(base64, { minItems: 1 })),
    ...JobOptions.properties,
  },
  { additionalProperties: false },
);
export const JobForm = Type.Object({
  image: Type.Array(file, { description: 'One or more files.' }),
  ...JobOptions.properties,
});
export const JobHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ maxLength: 255, description: 'The same key and content is the same job.' }),
  ),
});
export const JobListQuery = Type.Object({
  state: Type.Optional(Type.Enum([...JOB_STATES])),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: Type.Optional(Type.String({ description: 'From the page before.' })),
});
export const JobPurgeQuery = Type.Object({
  state: Type.String({ description: 'Final states, with commas between them.' }),
});
export const JobWaitQuery = Type.Object({
  wait: Type.Optional(
    Type.Number({ minimum: 0, maximum: 60, description: 'Seconds to wait for its end.' }),
  ),
});

export const JobParams = Type.Object({ id: Type.String() });

const time = (description: string): ReturnType<typeof Type.String> =>
  Type.String({ format: 'date-time', description });

export const JobResponse = Type.Object({
  id: Type.String(),
  state: Type.Enum([...JOB_STATES]),
  model: Type.String(),
  priority: Type.Enum([...JOB_PRIORITIES]),
  confidence_threshold: Type.Number(),
  position: Type.Optional(
    Type.Integer({ description: 'Jobs of the same model that run before it, while it waits.' }),
  ),
  progress: Type.Object({ done: Type.Integer(), total: Type.Integer() }),
  tries: Type.Integer({ description: 'How often it failed and may itself be the reason.' }),
  created_at: time('When it was accepted.'),
  started_at: Type.Optional(time('When it was last taken up.')),
  finished_at: Type.Optional(time('When it ended.')),
  expires_at: time('If it has not ended by then, it is dropped.'),
  timings: Type.Object({
    queued_ms: Type.Number(),
    running_ms: Type.Optional(Type.Number()),
  }),
  problem: Type.Optional(ProblemResponse),
  results: Type.Optional(
    Type.Array(
      Type.Union([
        Type.Object({ detections: Detections, inference_ms: Type.Number() }),
        Type.Object({ problem: ProblemResponse }),
      ]),
      { description: 'One entry for every image, in their order.' },
    ),
  ),
  webhook: Type.Optional(
    Type.Object({
      state: Type.Enum(['pending', 'delivered', 'failed']),
      attempts: Type.Integer(),
      reason: Type.Optional(Type.String()),
    }),
  ),
});

export const JobListResponse = Type.Object({
  jobs: Type.Array(JobResponse, { description: 'Newest first, without results.' }),
  cursor: Type.Optional(Type.String({ description: 'Of the next page.' })),
});

export const PurgeResponse = Type.Object({ removed: Type.Integer() });
