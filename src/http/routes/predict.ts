import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ByteBudget } from '../../admission/byte-budget.js';
import type { Config } from '../../config/schema.js';
import { ShoalError } from '../../errors.js';
import { inspectPieces } from '../../image/inspect.js';
import { checkImageLimits } from '../../image/limits.js';
import type { ModelRegistry } from '../../models/registry.js';
import { parseContentType } from '../content-type.js';
import { deadlineOf, watchRequest } from '../deadline.js';
import { giveBackImageBuffer } from '../image-pool.js';
import { maxBodyBytes, readPredictInput } from '../predict-input.js';
import { receiveBody } from '../receive-body.js';
import { ModelParams, PredictResponse } from '../schemas.js';

interface PredictDependencies {
  readonly config: Config;
  readonly models: ModelRegistry;
  readonly budget: ByteBudget;
}

/** `POST /predict` and `POST /models/{name}/predict`: the path of a request, top to bottom. */
export function predictRoutes(app: FastifyInstance, dependencies: PredictDependencies): void {
  const { config, models, budget } = dependencies;
  const limits = { maxPixels: config.max_pixels, maxDecodeBytes: config.max_decode_bytes };

  /** Everything that can be refused is refused before the body is read. */
  function admitHeaders(request: FastifyRequest): void {
    const { context, headers } = request;
    const model = models.get((request.params as { name?: string }).name);
    context.model = model;
    context.form = parseContentType(headers['content-type']);
    const maxBytes = maxBodyBytes(context.form, config.max_image_bytes);
    const bytes = Number(headers['content-length'] ?? 0);
    // One that is too large is told so when its body would be read.
    if (bytes > maxBytes) return;
    model.gate.check(bytes);
    context.reservation = budget.open(bytes);
  }

  async function predict(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const { context } = request;
    const { model, form, stagesMs } = context;
    if (model === undefined || form === undefined) throw new Error('the headers were not read');
    const deadline = deadlineOf(request, config.timeout_ms);
    const { image, threshold } = readPredictInput(
      form,
      request.body as readonly Buffer[],
      request.query as Record<string, unknown>,
      config.max_image_bytes,
    );
    const info = inspectPieces(image);
    checkImageLimits(info, limits);

    const received = performance.now();
    stagesMs.receive = received - context.startedAt;
    using watch = watchRequest(context, deadline);
    let admitted = received;
    const answer = await model.predict(
      { image, info, threshold, deadline, cancellation: watch.cancellation },
      () => {
        admitted = performance.now();
        stagesMs.admit = admitted - received;
      },
    );
    if (form.kind === 'json') for (const piece of image) giveBackImageBuffer(piece);
    const { decodeMs, inferMs, postMs } = answer.timings;
    // Whatever was neither computing nor admission was waiting: in the engine, or for one.
    const queueMs = Math.max(0, performance.now() - admitted - decodeMs - inferMs - postMs);
    Object.assign(stagesMs, { decode: decodeMs, queue: queueMs, infer: inferMs, post: postMs });
    context.batchSize = answer.batchSize;
    void reply.type('application/json; charset=utf-8');
    const body: PredictResponse = {
      detections: answer.detections,
      inference_ms: Number(inferMs.toFixed(2)),
    };
    // As text, since V8's own serializer is faster here than one generated from the schema.
    return `${JSON.stringify(body)}\n`;
  }

  app.addContentTypeParser('*', (request, payload, done) => {
    const { form, reservation } = request.context;
    if (form === undefined) {
      done(new ShoalError('unsupported_content_type', 'No body is taken here.'));
    } else {
      const maxBytes = maxBodyBytes(form, config.max_image_bytes);
      receiveBody(payload, { maxBytes, reservation }, done);
    }
  });

  const options = {
    onRequest: (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
      admitHeaders(request);
      done();
    },
    handler: predict,
  };
  const schema = { tags: ['predict'], response: { 200: PredictResponse } };
  app.route({
    method: 'POST',
    url: '/predict',
    schema: { ...schema, summary: 'Detect objects with the default model' },
    ...options,
  });
  app.route({
    method: 'POST',
    url: '/models/:name/predict',
    schema: { ...schema, summary: 'Detect objects with a named model', params: ModelParams },
    ...options,
  });
}
