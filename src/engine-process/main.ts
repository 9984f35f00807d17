/**
 * An engine: a child process that decodes, batches and infers for one model on one device.
 *
 * It talks to the server over the socket pair it inherits as descriptor 3. When that closes, the
 * server is gone and the engine ends. It always ends by SIGKILL: a clean exit would tear down
 * native libraries while their threads run, which aborts.
 */
import { type ConnectOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type {
  CancelMeta,
  EngineConfig,
  Failed,
  Hello,
  IntakeOrder,
  ItemMeta,
  Measure,
  Measured,
  Pong,
  Ready,
  Stuck,
} from '../engine/messages.js';
import {
  encodeFrameHead,
  encodeFrameText,
  FRAME,
  type Frame,
  FrameReader,
  WIRE_VERSION,
} from '../engine/wire.js';
import { Batcher, type BatcherHost } from './batcher.js';
import { BytePool } from './byte-pool.js';
import { HangWatch, patienceMs } from './hang-watch.js';
import { startLanes } from './lanes.js';
import { IntakeHub } from './intake-hub.js';
import { fillWithNoise, measure, measureDecode } from './measure.js';
import { readFrames } from './read-frames.js';
import { reportText } from './report.js';

const SOCKET_FD = 3;

const pool = new BytePool();
const reader = new FrameReader(handleFrame, (bytes) => pool.take(bytes));
// The typings know `onread` for outgoing connections only; the constructor takes it as well.
const options: SocketConstructorOpts & ConnectOpts = {
  fd: SOCKET_FD,
  readable: true,
  writable: true,
  onread: readFrames(reader),
};
const socket = new Socket(options);
const intakes = new IntakeHub({
  onItem: (meta, bytes) => engine?.batcher.add(meta, bytes),
  onDeath: fail,
});
let engine: RunningEngine | undefined;
let hasFailed = false;

interface RunningEngine {
  readonly batcher: Batcher;
  measure(wanted: Measure): Promise<Measured>;
}

function endNow(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** The first reason is the one that counts, and nothing that comes after it is trusted. */
function fail(message: string): void {
  if (hasFailed) return;
  hasFailed = true;
  const meta: Failed = { message };
  socket.write(encodeFrameHead(FRAME.failed, meta), endNow);
}

function failWith(error: unknown): void {
  fail(error instanceof Error ? error.message : String(error));
}

function handleFrame({ type, meta, body }: Frame): void {
  switch (type) {
    case FRAME.configure:
      configure(meta as EngineConfig).catch(failWith);
      break;
    case FRAME.item:
      engine?.batcher.add(meta as ItemMeta, body);
      break;
    case FRAME.intake:
      intakes.follow(meta as IntakeOrder);
      break;
    case FRAME.cancel:
      engine?.batcher.cancel((meta as CancelMeta).id);
      break;
    case FRAME.ping: {
      const drift = engine?.batcher.drift ?? 1;
      const pong: Pong = { rssBytes: process.memoryUsage.rss(), drift };
      socket.write(encodeFrameHead(FRAME.pong, pong));
      break;
    }
    case FRAME.measure:
      engine?.measure(meta as Measure).then((measured) => {
        socket.write(encodeFrameHead(FRAME.measured, measured));
      }, failWith);
      break;
    default:
      throw new Error(`wire: an engine does not expect frame ${String(type)}`);
  }
}

async function configure(config: EngineConfig): Promise<void> {
  const startedAt = performance.now();
  const pictureBytes = config.input.width * config.input.height * 3;
  const slots = new SharedArrayBuffer(config.maxItems * pictureBytes);
  const { lanes, provider, placement, maxBatch } = await startLanes(config, slots, fail);
  const fits = Math.min(maxBatch, config.ceiling ?? Infinity);

  const host: BatcherHost = {
    lanes,
    now: () => performance.now(),
    after: (ms, callback) => {
      const timer = setTimeout(callback, ms);
      return () => {
        clearTimeout(timer);
      };
    },
    report: (report) => {
      if (!hasFailed) socket.write(encodeFrameText(FRAME.results, reportText(report)));
    },
    releaseBytes: (bytes) => {
      if (!intakes.release(bytes)) pool.giveBack(bytes);
    },
  };
  const batcher = new Batcher(config, host, fits);
  let decodeMs: number | undefined;
  engine = {
    batcher,
    async measure(wanted) {
      // Only while no items are inside, so the slot is free.
      if (decodeMs === undefined) {
        decodeMs = await measureDecode(lanes);
        fillWithNoise(new Uint8Array(slots, 0, pictureBytes));
      }
      const ms = await measure(lanes, wanted, config.input);
      return { batch: wanted.batch, ms, decodeMs, rssBytes: process.memoryUsage.rss() };
    },
  };
  const watch = new HangWatch(lanes, patienceMs(config));
  setInterval(() => {
    const hung = watch.look();
    if (hung === undefined) return;
    const stuck: Stuck = { ids: batcher.idsIn(hung) };
    socket.write(encodeFrameHead(FRAME.stuck, stuck), endNow);
  }, watch.everyMs).unref();

  const ready: Ready = {
    provider,
    ...(placement !== undefined && { placement }),
    loadMs: performance.now() - startedAt,
    ...(fits < config.plan.maxBatch && { ceiling: fits }),
  };
  socket.write(encodeFrameHead(FRAME.ready, ready));
}

// Ctrl-C reaches the whole process group; the server decides when its engines end.
process.on('SIGINT', () => undefined).on('SIGTERM', () => undefined);
socket.on('close', endNow).on('error', endNow).on('end', endNow);
const hello: Hello = { version: WIRE_VERSION };
socket.write(encodeFrameHead(FRAME.hello, hello));
