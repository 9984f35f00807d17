import type { Reservation } from '../admission/byte-budget.js';
import type { Tenant } from '../admission/tenant.js';
import type { ErrorCode } from '../errors.js';
import type { BodyForm } from './content-type.js';
import type { Guest } from './predictor.js';

/** The stages a predict request goes through, in order; also the names in `Server-Timing`. */
export const STAGES = ['receive', 'admit', 'decode', 'queue', 'infer', 'post'] as const;
export type Stage = (typeof STAGES)[number];

/** What is known about a request, for its answer, its log line and its metrics. */
export interface RequestContext {
  readonly id: string;
  readonly startedAt: number;
  readonly stagesMs: Partial<Record<Stage, number>>;
  /** Whoever sent it; known once its key has been checked. */
  tenant?: Tenant;
  /** Once the gate in front of the model has let it in. */
  guest?: Guest;
  /** When its answer stops being useful. */
  deadline?: number;
  /** How long after it was received the answer was expected. */
  predictedMs?: number;
  /** It is counted until it is over. */
  leave?: () => void;
  /** The name of the model that it is about. */
  model?: string;
  form?: BodyForm;
  /** The largest body that this route takes in this form. */
  maxBodyBytes?: number;
  /** The job that it is about. */
  job?: string;
  batchSize?: number;
  errorCode?: ErrorCode | 'client_gone';
  /** Set while somebody works on the answer and wants to know. */
  onClientGone: (() => void) | undefined;
  /** The bytes that this request holds. */
  reservation: Reservation | undefined;
  isClosed: boolean;
}

export function createContext(id: string): RequestContext {
  return {
    id,
    startedAt: performance.now(),
    stagesMs: {},
    onClientGone: undefined,
    reservation: undefined,
    isClosed: false,
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext;
  }
  interface FastifyContextConfig {
    /** Served without an API key. Only health checks may be. */
    isPublic?: boolean;
  }
}
