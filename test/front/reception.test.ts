import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, Reception } from '../../src/front/reception.js';
import { until } from '../helpers/server.js';

const MAX_WAITING = 8;

class FakeReceiver implements Receiver {
  readonly taken: Socket[] = [];
  isFull = false;
  done: () => void = () => undefined;
  take(socket: Socket, done: () => void): void {
    this.taken.push(socket);
    this.done = done;
  }
}

describe('the reception', () => {
  let reception: Reception;
  let clients: Socket[];
  let port: number;
  beforeEach(async () => {
    reception = new Reception(MAX_WAITING);
    clients = [];
    ({ port } = await reception.open('127.0.0.1', 0));
  });
  const receivers: FakeReceiver[] = [];
  afterEach(() => {
    reception.close();
    for (const socket of [...clients, ...receivers.flatMap(({ taken }) => taken)]) socket.destroy();
    receivers.length = 0;
  });
  const receiver = (): FakeReceiver => {
    const made = new FakeReceiver();
    receivers.push(made);
    return made;
  };
  const come = (count: number): void => {
    for (let at = 0; at < count; at++) {
      clients.push(connect(port, '127.0.0.1').on('error', () => undefined));
    }
  };

  it('gives every receiver one connection at a time, in turn', async () => {
    const [a, b] = [receiver(), receiver()];
    reception.add(a);
    reception.add(b);
    come(4);
    await until(() => a.taken.length + b.taken.length === 2);
    expect([a.taken.length, b.taken.length]).toEqual([1, 1]);
    a.done();
    await until(() => a.taken.length === 2);
    b.done();
    await until(() => b.taken.length === 2);
  });

  it('keeps only so many while nobody can take them', async () => {
    come(MAX_WAITING + 3);
    await until(() => clients.filter(({ closed }) => closed).length === 3);
    const only = receiver();
    reception.add(only);
    for (let count = 1; count <= MAX_WAITING; count++) {
      await until(() => only.taken.length === count);
      only.done();
    }
    expect(only.taken).toHaveLength(MAX_WAITING);
  });

  it('keeps what nobody can take, and gives nothing to who is gone', async () => {
    const [gone, late] = [receiver(), receiver()];
    reception.add(gone);
    come(1);
    await until(() => gone.taken.length === 1);
    reception.remove(gone);
    gone.done();
    come(2);
    await until(() => clients.every(({ readyState }) => readyState === 'open'));
    reception.add(late);
    await until(() => late.taken.length === 1);
    late.done();
    await until(() => late.taken.length === 2);
    expect(gone.taken).toHaveLength(1);
  });

  it('passes over who is full, and closes what comes when all are', async () => {
    const [a, b] = [receiver(), receiver()];
    a.isFull = true;
    reception.add(a);
    reception.add(b);
    come(2);
    await until(() => b.taken.length === 1);
    b.done();
    await until(() => b.taken.length === 2);
    b.isFull = true;
    b.done();
    come(1);
    await until(() => clients[2]?.destroyed === true);
    a.isFull = false;
    come(1);
    await until(() => a.taken.length === 1);
    expect(b.taken).toHaveLength(2);
  });

  it('says which port is taken', async () => {
    await expect(new Reception(MAX_WAITING).open('127.0.0.1', port)).rejects.toMatchObject({
      code: 'EADDRINUSE',
      port,
    });
  });

  it('answers to a name with several addresses', async () => {
    const named = new Reception(MAX_WAITING);
    const address = await named.open('localhost', 0);
    const one = receiver();
    named.add(one);
    clients.push(connect(address.port, 'localhost'));
    await until(() => one.taken.length === 1);
    named.close();
    expect(address.port).toBeGreaterThan(0);
  });
});
