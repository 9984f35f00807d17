import { beforeEach, describe, expect, it } from 'vitest';
import { Gate, type Visitor } from '../../src/admission/gate.js';
import { Tenant } from '../../src/admission/tenant.js';
import type { Cancellation } from '../../src/cancellation.js';
import type { ImageSource, ItemTaker } from '../../src/engine/image-source.js';
import { isRemote } from '../../src/engine/image-source.js';
import type { EngineAnswer, EngineRequest } from '../../src/engine/item-book.js';
import type { ItemMeta } from '../../src/engine/messages.js';
import { Quarantine } from '../../src/engine/quarantine.js';
import { FrontDesk } from '../../src/front/front-desk.js';
import type { ToFront } from '../../src/front/protocol.js';
import type { ServedModel } from '../../src/models/served-model.js';
import { createLog } from '../../src/telemetry/log.js';
import { info } from '../helpers/fake-engine.js';

const ANSWER: EngineAnswer = {
  id: 1,
  detections: [],
  timings: { decodeMs: 1, inferMs: 2, postMs: 3 },
  batch: { size: 4, session: 'narrow', laneMs: 6 },
};

/** A model whose answers the test gives. */
class FakeModel {
  readonly name = 'one';
  readonly gate = new Gate({
    maxConcurrent: 1,
    maxQueue: 0,
    maxQueueBytes: 1000,
    maxWaitMs: 1000,
    targetMs: 0,
  });
  readonly quarantine = new Quarantine(1000, () => 0);
  asked: {
    image: ImageSource;
    cancellation: Cancellation;
    answer: (answer: EngineAnswer) => void;
  }[] = [];

  predict(request: Omit<EngineRequest, 'rank'>, visitor: Visitor): Promise<EngineAnswer> {
    this.quarantine.check(request.image);
    return this.gate.run(visitor, request.cancellation, () => {
      const { image, cancellation } = request;
      return new Promise((answer, reject) => {
        cancellation.listen(reject);
        this.asked.push({ image, cancellation, answer });
      });
    });
  }
}

describe('the server process, for a front', () => {
  let sent: ToFront[];
  let model: FakeModel;
  let desk: FrontDesk;
  let lost: number[];
  let taker: ItemTaker;
  beforeEach(() => {
    [sent, lost] = [[], []];
    model = new FakeModel();
    taker = { key: 9, lost: (id) => lost.push(id) };
    const limits = { name: 't', owner: 't', weight: 1, rate: 0, queueShare: 1 };
    desk = new FrontDesk({
      models: [model as unknown as ServedModel],
      tenants: [new Tenant({ ...limits, concurrency: 2, isBackground: false })],
      log: createLog({ log_level: 'silent', log_format: 'json' }),
      send: (message) => sent.push(message),
    });
  });
  const enter = (seq: number): void => {
    desk.enter(['enter', seq, 0, 0, `t/${String(seq)}`, false, 100, 60_000]);
  };
  const predict = (seq: number): void => {
    desk.predict(['predict', seq, info, 0.5, 100]);
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const sendImage = (at = 0): void => {
    const { image } = model.asked[at] as FakeModel['asked'][0];
    if (isRemote(image)) image.sendTo(taker, { id: 33, rank: 2 } as ItemMeta);
  };

  it('counts what a tenant has in work until it is over', () => {
    for (const seq of [1, 2, 3]) enter(seq);
    expect(sent.map(([kind]) => kind)).toEqual(['entered', 'entered', 'refused']);
    expect(sent[2]?.slice(0, 3)).toEqual(['refused', 3, 'concurrency_limited']);
    desk.leave(1);
    enter(4);
    expect(sent.at(-1)).toEqual(['entered', 4]);
  });

  it('answers, and tells the front to which engine an image goes', async () => {
    enter(1);
    predict(1);
    sendImage();
    expect(sent.at(-1)).toEqual(['send', 1, 9, 33, 2]);
    model.asked[0]?.answer(ANSWER);
    await settled();
    expect(sent.at(-1)?.slice(0, 7)).toEqual(['answer', 1, [], 1, 2, 3, 4]);
    expect(model.gate.inFlight).toBe(0);
  });

  it('takes an order that nobody asked for before, or says why not', async () => {
    const order = (seq: number): void => {
      desk.order(['order', seq, 0, 0, `t/${String(seq)}`, false, 100, 60_000, info, 0.5]);
    };
    order(1);
    order(2);
    expect(sent.at(-1)?.slice(0, 3)).toEqual(['failed', 2, 'queue_full']);
    model.asked[0]?.answer(ANSWER);
    await settled();
    expect(sent.at(-1)?.[0]).toBe('answer');
    // With its answer it is over, and its tenant may send as many again.
    for (const seq of [3, 4]) enter(seq);
    expect(sent.slice(-2).map(([kind]) => kind)).toEqual(['entered', 'entered']);
  });

  it('says at which models there is a crowd, when that changes', () => {
    expect(desk.crowdNews()).toEqual([]);
    enter(1);
    predict(1);
    expect(desk.crowdNews()).toEqual([['crowded', 0, true]]);
    expect(desk.crowdNews()).toEqual([]);
    desk.assess(['assess', 2, 0, 0, 't/2', false, 100, 60_000]);
    expect(sent.at(-1)?.slice(0, 3)).toEqual(['assessed', 2, 'queue_full']);
  });

  it('lets go of an image only when no engine has it', async () => {
    enter(1);
    predict(1);
    sendImage();
    desk.leave(1);
    await settled();
    expect(sent.at(-1)?.[0]).toBe('send');
    const { image } = model.asked[0] as FakeModel['asked'][0];
    if (isRemote(image)) image.leave(taker);
    expect(sent.at(-1)).toEqual(['release', 1]);
  });

  it('cancels everything of a front that is gone', async () => {
    for (const seq of [1, 2]) enter(seq);
    predict(1);
    sendImage();
    desk.close();
    await settled();
    expect(lost).toEqual([33]);
    expect(model.gate.inFlight).toBe(0);
    expect(model.asked[0]?.cancellation.reason).toBeDefined();
    for (const seq of [3, 4]) enter(seq);
    expect(sent.slice(-2).map(([kind]) => kind)).toEqual(['entered', 'entered']);
  });

  it('has an image hashed that is as long as one that kills engines', async () => {
    model.quarantine.blame([Buffer.alloc(100)], 2);
    enter(1);
    predict(1);
    expect(sent.at(-1)).toEqual(['hash', 1]);
    desk.hashed(['hashed', 1, 'another']);
    expect(model.asked).toHaveLength(1);
    // It turns out to be one itself; without its hash nobody would know it again.
    const { image } = model.asked[0] as FakeModel['asked'][0];
    expect(model.quarantine.blame(image, 2)).toBe(true);
    model.asked[0]?.answer(ANSWER);
    await settled();
    enter(2);
    predict(2);
    desk.hashed(['hashed', 2, 'another']);
    await settled();
    expect(sent.at(-1)?.slice(0, 3)).toEqual(['failed', 2, 'image_quarantined']);
  });
});
