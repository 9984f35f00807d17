import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Reservation } from '../admission/byte-budget.js';
import { ShoalError } from '../errors.js';
import { discardBody } from './discard-body.js';

/** Below this, chunks may be as small as they like; beyond it they must carry some weight. */
const FREE_CHUNKS = 1024;
const MIN_MEAN_CHUNK_BYTES = 256;

/** The client closed the connection; there is nobody left to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

/** Bodies are taken by the routes that have said so, and how much of it. */
export function receiveBodies(app: FastifyInstance): void {
  app.addContentTypeParser('*', ({ context, is404, headers }, payload, done) => {
    const { maxBodyBytes: maxBytes, reservation } = context;
    const isEmpty = headers['content-length'] === '0' && maxBytes === undefined;
    if (is404 || isEmpty) {
      // It is told that there is no such route, whatever it sends; and nothing is no body.
      discardBody(payload);
      done(null);
    } else if (maxBytes === undefined) {
      done(new ShoalError('unsupported_content_type', 'No body is taken here.'));
    } else {
      receiveBody(payload, { maxBytes, reservation }, done);
    }
  });
}

/**
 * Collects a request's body as it arrives, never more than `maxBytes`. Nothing is copied.
 * @param done called exactly once
 */
function receiveBody(
  request: IncomingMessage,
  { maxBytes, reservation }: { maxBytes: number; reservation: Reservation | undefined },
  done: (error: Error | null, chunks?: Buffer[]) => void,
): void {
  const chunks: Buffer[] = [];
  let received = 0;
  let isSettled = false;

  const settle = (error: Error | null): void => {
    if (isSettled) return;
    isSettled = true;
    done(error, chunks);
  };
  const refuse = (error: Error): void => {
    request.off('data', take);
    discardBody(request);
    settle(error);
  };
  const take = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > maxBytes) {
      refuse(tooLarge(maxBytes));
    } else if (chunks.length > FREE_CHUNKS && received / chunks.length < MIN_MEAN_CHUNK_BYTES) {
      refuse(new ShoalError('malformed_request', 'The body comes in too many tiny chunks.'));
    } else {
      try {
        reservation?.grow(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        refuse(error as Error);
      }
    }
  };
  const gone = (): void => {
    if (!isSettled) settle(new ClientGoneError('the client closed the connection'));
  };

  if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
    refuse(tooLarge(maxBytes));
    return;
  }
  request.on('data', take);
  request.on('end', () => {
    settle(null);
  });
  request.on('error', gone);
  request.on('close', gone);
}

function tooLarge(maxBytes: number): ShoalError {
  return new ShoalError('body_too_large', `The body may have at most ${String(maxBytes)} bytes.`);
}
