/**
 * A closed-loop load generator in a process of its own: each connection sends the next request
 * when it has the last answer. Requests are built once and answers barely parsed, because its CPU
 * is taken from the server's on a shared machine.
 */
import { connect } from 'node:net';

export interface LoadJob {
  readonly port: number;
  readonly form: 'json' | 'raw';
  readonly images: readonly string[];
  readonly concurrency: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly latenciesMs: number[];
  readonly failures: number;
  readonly perSecond: number;
  readonly cpuMsPerRequest: number;
}

function buildRequest(form: LoadJob['form'], base64: string): Buffer {
  const body =
    form === 'raw'
      ? Buffer.from(base64, 'base64')
      : Buffer.from(JSON.stringify({ image_b64: base64, confidence_threshold: 0.5 }));
  const type = form === 'raw' ? 'image/jpeg' : 'application/json';
  const head =
    'POST /predict HTTP/1.1\r\nHost: localhost\r\n' +
    `Content-Type: ${type}\r\nContent-Length: ${String(body.length)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

async function run(job: LoadJob): Promise<LoadResult> {
  const requests = job.images.map((image) => buildRequest(job.form, image));
  const latenciesMs: number[] = [];
  let failures = 0;
  let next = 0;
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  const end = started + job.seconds * 1000;

  const client = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(job.port, '127.0.0.1');
      socket.setNoDelay(true);
      let sentAt = 0;
      let text = '';
      const send = (): void => {
        if (performance.now() >= end) {
          socket.end();
          resolve();
          return;
        }
        sentAt = performance.now();
        socket.write(requests[next++ % requests.length] as Buffer);
      };
      socket.on('connect', send).on('error', reject);
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        const headEnd = text.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
        if (text.length < headEnd + 4 + length) return;
        if (text.startsWith('HTTP/1.1 200')) latenciesMs.push(performance.now() - sentAt);
        else failures++;
        text = '';
        send();
      });
    });
  await Promise.all(Array.from({ length: job.concurrency }, client));

  const elapsed = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const count = latenciesMs.length + failures;
  return {
    latenciesMs,
    failures,
    perSecond: latenciesMs.length / elapsed,
    cpuMsPerRequest: (user + system) / 1000 / Math.max(1, count),
  };
}

process.on('message', (job: LoadJob) => {
  void run(job).then((result) => process.send?.(result));
});
process.send?.('ready');
