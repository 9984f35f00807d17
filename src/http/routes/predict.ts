import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ByteBudget } from '../../admission/byte-budget.js';
import type { Config } from '../../config/schema.js';
import { inspectPieces } from '../../image/inspect.js';
import { checkImageLimits } from '../../image/limits.js';
import { parseContentType } from '../content-type.js';
import { freeNow } from '../free-now.js';
import { giveBackImageBuffer } from '../image-pool.js';
import { maxBodyBytes, readPredictInput } from '../predict-input.js';
import type { Predictor } from '../predictor.js';
import { ClientGoneError } from '../receive-body.js';
import { ModelParams, PredictResponse } from '../schemas.js';
import { readVisitor, watchRequest } from '../wishes.js';

interface PredictDependencies {
  readonly config: Config;
  readonly predictor: Predictor;
  readonly budget: ByteBudget;
}

/** `POST /predict` and `POST /models/{name}/predict`: the path of a request, top to bottom. */
export function predictRoutes(app: FastifyInstance, dependencies: PredictDependencies): void {
  const { config, predictor, budget } = dependencies;
  const limits = { maxPixels: config.max_pixels, maxDecodeBytes: config.max_decode_bytes };

  /** Everything that can be refused is refused before the body is read. */
  function admitHeaders(request: FastifyRequest, done: (error?: Error) => void): void {
    const { context, headers } = request;
    const { tenant } = context;
    if (tenant === undefined) throw new Error('the key was not checked');
    // What is counted from here on is given back when it closes, which has happened already.
    if (context.isClosed) throw new ClientGoneError('the client closed the connection');
    const model = predictor.nameOf((request.params as { name?: string }).name);
    context.model = model;
    context.form = parseContentType(headers['content-type']);
    context.maxBodyBytes = maxBodyBytes(context.form, config.max_image_bytes);
    const { raw, id } = request;
    const visitor = readVisitor(raw, id, tenant, config.timeout_ms, context.startedAt);
    context.deadline = visitor.deadline;
    // One that is too large is told so when its body would be read.
    if (visitor.bytes > context.maxBodyBytes) {
      done();
      return;
    }
    predictor.enter(model, visitor, (error, guest) => {
      if (guest === undefined) {
        done(error ?? undefined);
        return;
      }
      if (context.isClosed) {
        guest.leave();
        done(new ClientGoneError('the client closed the connection'));
        return;
      }
      context.guest = guest;
      context.leave = () => {
        guest.leave();
      };
      try {
        context.reservation = budget.open(visitor.bytes);
      } catch (full) {
        done(full as Error);
        return;
      }
      done();
    });
  }

  async function predict(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const { context } = request;
    const { guest, form, deadline, stagesMs } = context;
    if (guest === undefined || form === undefined || deadline === undefined) {
      throw new Error('the headers were not read');
    }
    const body = request.body as readonly Buffer[];
    const query = request.query as Record<string, unknown>;
    const { image, threshold } = readPredictInput(form, body, query, config.max_image_bytes);
    // Other forms are an envelope, and the image was copied out of it.
    if (form.kind !== 'image') freeNow(body);
    const info = inspectPieces(image);
    checkImageLimits(info, limits);

    const received = performance.now();
    stagesMs.receive = received - context.startedAt;
    using watch = watchRequest(context, deadline);
    const { cancellation } = watch;
    const onAdmitted = (ms: number): void => {
      stagesMs.admit = ms;
    };
    const answer = await guest.predict({ image, info, threshold, cancellation, onAdmitted });
    // An engine that has answered has read the whole of it; those before it have ended.
    if (form.kind === 'image') freeNow(image);
    else for (const piece of image) giveBackImageBuffer(piece);
    context.predictedMs = answer.predictedMs;
    const admitted = received + (stagesMs.admit ?? 0);
    const answered = performance.now();
    const { decodeMs, inferMs, postMs } = answer.timings;
    // Whatever was neither computing nor admission was waiting: in the engine, or for one.
    const queueMs = Math.max(0, answered - admitted - decodeMs - inferMs - postMs);
    Object.assign(stagesMs, { decode: decodeMs, queue: queueMs, infer: inferMs, post: postMs });
    context.batchSize = answer.batchSize;
    void reply.type('application/json; charset=utf-8');
    const response: PredictResponse = {
      detections: answer.detections,
      inference_ms: Number(inferMs.toFixed(2)),
    };
    // As text, since V8's own serializer is faster here than one generated from the schema.
    return `${JSON.stringify(response)}\n`;
  }

  const options = {
    onRequest: (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
      admitHeaders(request, done);
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
