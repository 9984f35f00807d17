import { describe, expect, it } from 'vitest';
import type { ItemTaker, RemoteImage } from '../../src/engine/image-source.js';
import type { ItemMeta, Results } from '../../src/engine/messages.js';
import { RemoteItems } from '../../src/engine/remote-items.js';
import { info } from '../helpers/fake-engine.js';

class FakeImage implements RemoteImage {
  readonly bytes = 1;
  readonly hash = undefined;
  readonly sent: number[] = [];
  takers = 0;
  askHash(): void {
    // Nobody asks here.
  }
  sendTo(_taker: ItemTaker, { id }: ItemMeta): void {
    this.sent.push(id);
    this.takers++;
  }
  leave(): void {
    this.takers--;
  }
}

const meta = (id: number): ItemMeta => ({
  id,
  threshold: 0.5,
  timeLeftMs: 1000,
  image: info,
  isBackground: false,
  rank: 0,
});
const result = (...ids: number[]): Results => ({
  items: ids.map((id) => ({ id, dropped: 'expired', stage: 'undecoded' })),
});

describe('items whose images come from elsewhere', () => {
  const setUp = () => {
    const reports: Results[] = [];
    const items = new RemoteItems(7, (results) => reports.push(results));
    const ids = (): number[] => reports.flatMap((one) => one.items.map(({ id }) => id));
    return { items, reports, ids };
  };

  it('are held until the engine has reported them', () => {
    const { items, ids } = setUp();
    const image = new FakeImage();
    items.send(meta(1), image);
    expect(image.sent).toEqual([1]);
    expect(image.takers).toBe(1);
    items.reported(result(1, 2));
    expect(image.takers).toBe(0);
    expect(ids()).toEqual([1, 2]);
  });

  it('are reported once when whoever held them is gone, whatever the engine says later', () => {
    const { items, reports, ids } = setUp();
    const image = new FakeImage();
    items.send(meta(1), image);
    items.lost(1);
    items.lost(1);
    expect(reports).toEqual([{ items: [{ id: 1, dropped: 'cancelled', stage: 'undecoded' }] }]);
    expect(image.takers).toBe(0);
    items.reported(result(1, 2));
    expect(ids()).toEqual([1, 2]);
  });

  it('are let go when the engine has ended', () => {
    const { items, ids } = setUp();
    const image = new FakeImage();
    items.send(meta(1), image);
    items.send(meta(2), image);
    items.end();
    expect(image.takers).toBe(0);
    expect(ids()).toEqual([]);
  });
});
