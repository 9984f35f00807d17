import type { Refusal, Visitor } from '../admission/gate.js';
import type { Tenant } from '../admission/tenant.js';
import { hashPieces } from '../engine/quarantine.js';
import { ShoalError } from '../errors.js';
import type { Guest, Order, Prediction, Predictor } from '../http/predictor.js';
import type { ImageInfo } from '../image/info.js';
import type { IntakeServer } from './intake-server.js';
import type { Asked, ToFront, ToServer } from './protocol.js';

export interface PredictorHost {
  readonly models: readonly string[];
  readonly defaultModel: string;
  /** In the order that the server process has them in. */
  readonly tenants: readonly Tenant[];
  readonly intakes: Pick<IntakeServer, 'send'>;
  send(message: ToServer): void;
}

/** An image until the server process needs it no more, even if its client has left. */
interface Held {
  readonly image: readonly Buffer[];
  readonly bytes: number;
  readonly info: ImageInfo;
  readonly threshold: number;
  readonly isBackground: boolean;
  readonly deadline: number;
  settle(message: Message<'answer'> | Message<'failed'>): void;
}

type Message<Name extends ToFront[0]> = Extract<ToFront, readonly [Name, ...unknown[]]>;
type Entered = (error: Error | null, guest?: Guest) => void;

/** With the models of the server process, which decides; only images go straight to engines. */
export class RemotePredictor implements Predictor {
  readonly #host: PredictorHost;
  readonly #tenants: ReadonlyMap<string, number>;
  readonly #crowded: boolean[];
  readonly #assessing = new Map<number, (refusal: Refusal | undefined) => void>();
  readonly #entering = new Map<number, { visitor: Visitor; done: Entered }>();
  readonly #held = new Map<number, Held>();
  #nextSeq = 1;

  constructor(host: PredictorHost) {
    this.#host = host;
    this.#tenants = new Map(host.tenants.map(({ name }, index) => [name, index]));
    this.#crowded = host.models.map(() => false);
  }

  nameOf(model: string | undefined): string {
    if (model === undefined) return this.#host.defaultModel;
    if (this.#host.models.includes(model)) return model;
    throw new ShoalError('model_not_found', 'No model of that name is loaded; see GET /models.');
  }

  /** What is known here may be old; whoever asks is worth a question to the server process. */
  findCrowded(model = this.#host.defaultModel, isAsking: boolean): string | undefined {
    const index = this.#host.models.indexOf(model);
    return index >= 0 && (isAsking || this.#crowded[index] === true) ? model : undefined;
  }

  assess(model: string, visitor: Visitor, done: (refusal: Refusal | undefined) => void): void {
    const seq = this.#nextSeq++;
    this.#assessing.set(seq, done);
    this.#host.send(['assess', seq, ...this.#question(model, visitor)]);
  }

  /** Where nobody has to wait and nothing is limited, it is asked for with the prediction. */
  enter(model: string, visitor: Visitor, done: Entered): void {
    const seq = this.#nextSeq++;
    const question = this.#question(model, visitor);
    if (visitor.tenant.isUnlimited && this.findCrowded(model, false) === undefined) {
      done(null, this.#guest(seq, visitor, question));
      return;
    }
    this.#entering.set(seq, { visitor, done });
    this.#host.send(['enter', seq, ...question]);
  }

  #question(model: string, { id, tenant, isBackground, bytes, deadline }: Visitor): Asked {
    const [at, who] = [this.#host.models.indexOf(model), this.#tenants.get(tenant.name) ?? 0];
    return [at, who, id, isBackground, bytes, deadline - performance.now()];
  }

  assessed([, seq, code, detail = '', retryAfterSeconds = 1]: Message<'assessed'>): void {
    const done = this.#assessing.get(seq);
    this.#assessing.delete(seq);
    done?.(code === undefined ? undefined : { code, detail, retryAfterSeconds });
  }

  entered([, seq]: Message<'entered'>): void {
    const entering = this.#entering.get(seq);
    this.#entering.delete(seq);
    entering?.done(null, this.#guest(seq, entering.visitor));
  }

  /** @param question to be asked with the prediction; without one it was let in already */
  #guest(seq: number, visitor: Visitor, question?: Asked): Guest {
    // Whether the server process counts it.
    let isCounted = question === undefined;
    return {
      predict: (order) => {
        isCounted = true;
        return this.#predict(seq, visitor, order, question, () => {
          isCounted = false;
        });
      },
      leave: () => {
        if (isCounted) this.#host.send(['leave', seq]);
      },
    };
  }

  refused([, seq, code, detail, retryAfter]: Message<'refused'>): void {
    const entering = this.#entering.get(seq);
    this.#entering.delete(seq);
    entering?.done(toError(code, detail, retryAfter));
  }

  #predict(
    seq: number,
    visitor: Visitor,
    order: Order,
    question: Asked | undefined,
    onAnswer: () => void,
  ): Promise<Prediction> {
    const { image, info, threshold, cancellation } = order;
    const { isBackground, deadline } = visitor;
    const bytes = image.reduce((sum, piece) => sum + piece.length, 0);
    return new Promise((resolve, reject) => {
      const settle: Held['settle'] = (message) => {
        cancellation.listen(undefined);
        onAnswer();
        if (message[0] === 'failed') {
          const [, , code, detail, retryAfter, admitMs] = message;
          if (admitMs !== null) order.onAdmitted(admitMs);
          reject(toError(code, detail, retryAfter));
        } else {
          const [, , detections, decodeMs, inferMs, postMs, batchSize, predictedMs, admitMs] =
            message;
          order.onAdmitted(admitMs);
          const timings = { decodeMs, inferMs, postMs };
          resolve({ detections, timings, batchSize, predictedMs });
        }
      };
      const held = { image, bytes, info, threshold, isBackground, deadline, settle };
      this.#held.set(seq, held);
      if (question === undefined) this.#host.send(['predict', seq, info, threshold, bytes]);
      else {
        const [model, tenant, id] = question;
        const timeLeftMs = deadline - performance.now();
        const now = [model, tenant, id, isBackground, bytes, timeLeftMs] as const;
        this.#host.send(['order', seq, ...now, info, threshold]);
      }
      // The image stays: it may be on its way to an engine, and to blame for its end.
      cancellation.listen((reason) => {
        if (reason instanceof ShoalError) this.#host.send(['cancel', seq]);
        reject(reason);
      });
    });
  }

  send([, seq, engine, id, rank]: Message<'send'>): void {
    const held = this.#held.get(seq);
    if (held === undefined) {
      this.#host.send(['unsent', seq, engine, id]);
      return;
    }
    const { image, bytes, info, threshold, isBackground, deadline } = held;
    const timeLeftMs = deadline - performance.now();
    const meta = { id, threshold, image: info, timeLeftMs, isBackground, rank };
    this.#host.intakes.send(engine, meta, image, bytes);
  }

  settled(message: Message<'answer'> | Message<'failed'>): void {
    const held = this.#held.get(message[1]);
    this.#held.delete(message[1]);
    held?.settle(message);
  }

  release([, seq]: Message<'release'>): void {
    this.#held.delete(seq);
  }

  hash([, seq]: Message<'hash'>): void {
    const held = this.#held.get(seq);
    if (held !== undefined) this.#host.send(['hashed', seq, hashPieces(held.image)]);
  }

  setCrowded([, model, isCrowded]: Message<'crowded'>): void {
    this.#crowded[model] = isCrowded;
  }
}

function toError(
  code: ConstructorParameters<typeof ShoalError>[0],
  detail: string,
  retryAfterSeconds: number | null,
): ShoalError {
  return new ShoalError(code, detail, retryAfterSeconds === null ? {} : { retryAfterSeconds });
}
