import { beforeEach, describe, expect, it } from 'vitest';
import type { Visitor } from '../../src/admission/gate.js';
import { Tenant } from '../../src/admission/tenant.js';
import { anonymousTenant } from '../../src/admission/tenants.js';
import { Cancellation } from '../../src/cancellation.js';
import { hashPieces } from '../../src/engine/quarantine.js';
import { ShoalError } from '../../src/errors.js';
import type { ToServer } from '../../src/front/protocol.js';
import { RemotePredictor } from '../../src/front/remote-predictor.js';
import type { Guest, Order } from '../../src/http/predictor.js';
import { info } from '../helpers/fake-engine.js';

describe('a front', () => {
  let sent: ToServer[];
  let toEngines: { engine: number; id: number; bytes: number }[];
  let predictor: RemotePredictor;
  const limits = { name: 't', owner: 't', weight: 1, rate: 9, concurrency: 0, queueShare: 1 };
  const tenant = new Tenant({ ...limits, isBackground: false });
  const free = anonymousTenant();
  const visitor: Visitor = {
    id: 't/1',
    tenant,
    isBackground: false,
    bytes: 3,
    deadline: performance.now() + 60_000,
    isExpected: false,
  };
  const image = [Buffer.from('ab'), Buffer.from('c')];

  beforeEach(() => {
    [sent, toEngines] = [[], []];
    predictor = new RemotePredictor({
      models: ['one', 'two'],
      defaultModel: 'two',
      tenants: [tenant, free],
      intakes: {
        send: (engine, { id }, _image, bytes) => toEngines.push({ engine, id, bytes }),
      },
      send: (message) => sent.push(message),
    });
  });

  function enter(): Guest {
    let entered: Guest | undefined;
    predictor.enter('two', visitor, (_error, guest) => {
      entered = guest;
    });
    expect(sent.at(-1)?.slice(0, 7)).toEqual(['enter', 1, 1, 0, 't/1', false, 3]);
    predictor.entered(['entered', 1]);
    expect(entered).toBeDefined();
    return entered as Guest;
  }
  const order = (cancellation = new Cancellation()): Order & { admitted: number[] } => {
    const admitted: number[] = [];
    const onAdmitted = (ms: number): void => {
      admitted.push(ms);
    };
    return { image, info, threshold: 0.5, cancellation, onAdmitted, admitted };
  };

  it('knows its models', () => {
    expect(predictor.nameOf(undefined)).toBe('two');
    expect(predictor.nameOf('one')).toBe('one');
    expect(() => predictor.nameOf('three')).toThrow('No model of that name');
  });

  it('asks the server process first where it is crowded, or where a client asks', () => {
    expect(predictor.findCrowded(undefined, false)).toBeUndefined();
    expect(predictor.findCrowded(undefined, true)).toBe('two');
    expect(predictor.findCrowded('three', true)).toBeUndefined();
    predictor.setCrowded(['crowded', 1, true]);
    expect(predictor.findCrowded('two', false)).toBe('two');
    expect(predictor.findCrowded('one', false)).toBeUndefined();
    const refusals: unknown[] = [];
    predictor.assess('two', visitor, (refusal) => refusals.push(refusal));
    predictor.assess('two', visitor, (refusal) => refusals.push(refusal));
    predictor.assessed(['assessed', 1, 'queue_full', 'full', 7]);
    predictor.assessed(['assessed', 2]);
    expect(refusals).toEqual([
      { code: 'queue_full', detail: 'full', retryAfterSeconds: 7 },
      undefined,
    ]);
  });

  it('passes on why a request is refused', () => {
    let refused: Error | null = null;
    predictor.enter('two', visitor, (error) => {
      refused = error;
    });
    predictor.refused(['refused', 1, 'rate_limited', 'too fast', 3]);
    expect(refused).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 3 });
  });

  it('gives an image to the engines it is told, as often as it is told, until the answer', async () => {
    const wanted = order();
    const answer = enter().predict(wanted);
    expect(sent.at(-1)).toEqual(['predict', 1, info, 0.5, 3]);
    predictor.send(['send', 1, 5, 70, 0]);
    predictor.send(['send', 1, 6, 70, 0]);
    expect(toEngines).toEqual([
      { engine: 5, id: 70, bytes: 3 },
      { engine: 6, id: 70, bytes: 3 },
    ]);
    predictor.settled(['answer', 1, [], 1, 2, 3, 4, 5, 6]);
    expect(await answer).toEqual({
      detections: [],
      timings: { decodeMs: 1, inferMs: 2, postMs: 3 },
      batchSize: 4,
      predictedMs: 5,
    });
    expect(wanted.admitted).toEqual([6]);
    predictor.send(['send', 1, 7, 71, 0]);
    expect(toEngines).toHaveLength(2);
    expect(sent.at(-1)).toEqual(['unsent', 1, 7, 71]);
  });

  it('keeps the image of a client that has left until nobody may ask for it', async () => {
    const cancellation = new Cancellation();
    const answer = enter().predict(order(cancellation));
    cancellation.cancel(new ShoalError('deadline_exceeded', 'late'));
    await expect(answer).rejects.toThrow('late');
    expect(sent.at(-1)).toEqual(['cancel', 1]);
    predictor.hash(['hash', 1]);
    expect(sent.at(-1)).toEqual(['hashed', 1, hashPieces([Buffer.from('abc')])]);
    predictor.release(['release', 1]);
    const { length } = sent;
    predictor.hash(['hash', 1]);
    expect(sent).toHaveLength(length);
  });

  it('passes on why there is no answer, and says when a request is over', async () => {
    const guest = enter();
    const answer = guest.predict(order());
    predictor.settled(['failed', 1, 'engine_unavailable', 'gone', 1, null]);
    await expect(answer).rejects.toMatchObject({
      code: 'engine_unavailable',
      retryAfterSeconds: 1,
    });
    const { length } = sent;
    guest.leave();
    expect(sent).toHaveLength(length);
  });

  it('says when a request is over that has no answer', () => {
    const guest = enter();
    guest.leave();
    expect(sent.at(-1)).toEqual(['leave', 1]);
  });

  it('asks once where nothing is limited and nobody has to wait', async () => {
    const guests: Guest[] = [];
    const take = (_error: Error | null, guest?: Guest): void => {
      if (guest !== undefined) guests.push(guest);
    };
    predictor.enter('two', { ...visitor, tenant: free }, take);
    predictor.enter('two', { ...visitor, tenant: free }, take);
    const [guest, gone] = guests as [Guest, Guest];
    gone.leave();
    expect(sent).toEqual([]);
    const answer = guest.predict(order());
    expect(sent).toHaveLength(1);
    expect(sent[0]?.slice(0, 7)).toEqual(['order', 1, 1, 1, 't/1', false, 3]);
    predictor.settled(['failed', 1, 'queue_full', 'full', 2, null]);
    await expect(answer).rejects.toMatchObject({ code: 'queue_full', retryAfterSeconds: 2 });
    predictor.setCrowded(['crowded', 1, true]);
    predictor.enter('two', { ...visitor, tenant: free }, take);
    expect(sent.at(-1)?.[0]).toBe('enter');
  });
});
