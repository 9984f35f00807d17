import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Channel } from '../../src/front/channel.js';

/** Two ends of one line, and how often each end wrote. */
function pair(): { a: Duplex; b: Duplex; writes: Buffer[] } {
  const writes: Buffer[] = [];
  const a: Duplex = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      writes.push(chunk);
      b.push(chunk);
      done();
    },
  });
  const b: Duplex = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  return { a, b, writes };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe('a channel', () => {
  it('says in one write what came up in one turn, in that order and after the news', async () => {
    const { a, b, writes } = pair();
    const heard: string[] = [];
    const nothing = { news: () => [], onClose: () => undefined };
    let news = ['news'];
    const one = new Channel<string, string>(a, {
      ...nothing,
      onMessage: () => undefined,
      news: () => news.splice(0),
    });
    new Channel<string, string>(b, { ...nothing, onMessage: (message) => heard.push(message) });
    for (const word of ['a', 'b', 'c']) one.send(word);
    await turn();
    expect(heard).toEqual(['news', 'a', 'b', 'c']);
    expect(writes).toHaveLength(1);
    one.send('d');
    await turn();
    expect(heard.at(-1)).toBe('d');
    // What is only news goes out when it is asked to.
    news = ['more'];
    one.flush();
    await turn();
    expect(heard.at(-1)).toBe('more');
    one.flush();
    expect(writes).toHaveLength(3);
  });

  it('tells when the other side is gone', async () => {
    const { a } = pair();
    let isClosed = false;
    new Channel<string, string>(a, {
      onMessage: () => undefined,
      news: () => [],
      onClose: () => {
        isClosed = true;
      },
    });
    a.destroy();
    await turn();
    expect(isClosed).toBe(true);
  });
});
