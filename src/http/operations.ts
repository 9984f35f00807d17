export interface Operation {
  /** What generated clients call it; as stable as its URL. */
  readonly operationId: string;
  /** What answers mean that are not problems, by status. */
  readonly answers: Readonly<Record<string, string>>;
}

const operation = (operationId: string, answer: string): Operation => ({
  operationId,
  answers: { 200: answer },
});

/** What the OpenAPI document says about every route besides its schemas. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /predict': operation('predict', 'What was found in the image.'),
  'POST /models/:name/predict': operation('predictWithModel', 'What was found in the image.'),
  'GET /models': operation('listModels', 'All models that are served.'),
  'GET /models/:name': operation('getModel', 'The model, how it is served and why.'),
  'POST /jobs': {
    operationId: 'submitJob',
    answers: {
      200: 'The job that was submitted with this `Idempotency-Key` before.',
      202: 'The job, which is on disk and will be run.',
    },
  },
  'GET /jobs': operation('listJobs', 'One page of the jobs of this key.'),
  'DELETE /jobs': operation('removeJobs', 'How many were removed.'),
  'GET /jobs/:id': operation('getJob', 'The job, with its results when it has ended.'),
  'DELETE /jobs/:id': operation('cancelJob', 'The job, which is not run any more.'),
  'POST /jobs/:id/retry': operation('retryJob', 'The job, which waits again.'),
  'GET /jobs/:id/events': operation('followJob', 'Every change of the job, until its end.'),
  'GET /health': {
    operationId: 'getHealth',
    answers: { 200: 'It serves.', 503: 'It serves nothing now; the body says more.' },
  },
  'GET /livez': operation('getLiveness', 'The process runs.'),
  'GET /readyz': operation('getReadiness', 'Requests are taken.'),
  'GET /metrics': operation('getMetrics', 'The text format of Prometheus.'),
};
