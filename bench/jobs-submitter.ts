/** Clients that submit jobs as fast as they are taken, in a process of their own. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { endWithThis } from './end-with-this.js';

export interface SubmitOrder {
  readonly port: number;
  readonly image: Uint8Array;
  readonly concurrency: number;
  readonly seconds: number;
}

export interface SubmitReply {
  readonly accepted: number;
  readonly refused: number;
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
}

/** Resolves when the time is over and every answer is there. */
export async function submitJobs(order: SubmitOrder): Promise<SubmitReply> {
  const child = fork(fileURLToPath(import.meta.url), ['submitter'], {
    execArgv: ['--import', 'tsx'],
    serialization: 'advanced',
  });
  endWithThis(child);
  child.once('exit', (code) => {
    child.emit('error', new Error(`the submitter ended with code ${String(code)}`));
  });
  await once(child, 'message');
  child.send(order);
  const [reply] = (await once(child, 'message')) as [SubmitReply];
  child.removeAllListeners('exit').kill();
  return reply;
}

async function carryOut(order: SubmitOrder): Promise<SubmitReply> {
  const { port, concurrency, seconds } = order;
  const image = Buffer.from(order.image);
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const latenciesMs: number[] = [];
  let refused = 0;
  const submit = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'image/png', 'content-length': image.length };
      const options = { host: '127.0.0.1', port, path: '/jobs', method: 'POST', agent, headers };
      request(options, (response) => {
        response.resume().on('end', () => {
          resolve(response.statusCode ?? 0);
        });
      })
        .on('error', reject)
        .end(image);
    });
  const start = performance.now();
  const client = async (): Promise<void> => {
    while (performance.now() - start < seconds * 1000) {
      const sent = performance.now();
      if ((await submit()) === 202) latenciesMs.push(performance.now() - sent);
      else refused++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, client));
  agent.destroy();
  const elapsed = (performance.now() - start) / 1000;
  return { accepted: latenciesMs.length, refused, seconds: elapsed, latenciesMs };
}

if (process.argv[2] === 'submitter') {
  process.on('message', (order: SubmitOrder) => {
    void carryOut(order).then((reply) => process.send?.(reply));
  });
  process.send?.('ready');
}
