/**
 * A worker thread that takes items from other processes than the server, which connects to them:
 * so it can say into which memory their bytes are read. Items go to the main thread several at a
 * time, as numbers of blocks of shared memory and short texts.
 */
import { connect } from 'node:net';
import { parentPort } from 'node:worker_threads';
import type { IntakeHello } from '../engine/messages.js';
import {
  encodeFrameHead,
  FRAME,
  type Frame,
  FrameReader,
  metaText,
  WIRE_VERSION,
} from '../engine/wire.js';
import type { Arrivals, IntakeTask } from './intake-messages.js';
import { readFrames } from './read-frames.js';
import { type Block, giveBack, SharedBlocks, viewOf } from './shared-blocks.js';

const GONE = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'];
let newBlocks: [number, SharedArrayBuffer][] = [];
let items: (number | string)[] = [];
const blocks = new SharedBlocks((block) => newBlocks.push([block.number, block.buffer]));

function post(): void {
  if (items.length === 0) return;
  const arrivals: Arrivals = { blocks: newBlocks, items };
  newBlocks = [];
  items = [];
  parentPort?.postMessage(arrivals);
}

function takeFrom({ engine, token, path }: IntakeTask): void {
  /** The one that is being filled. */
  let block: Block | undefined;
  const reader = new FrameReader(
    ({ type, meta, body }: Frame) => {
      if (type !== FRAME.item || block === undefined) throw new Error('wire: not an item');
      items.push(block.number, body.length, meta as string);
      block = undefined;
    },
    (bytes) => {
      block = blocks.take(bytes);
      return viewOf(block.buffer, bytes);
    },
    metaText,
  );
  const socket = connect({ path, onread: readFrames(reader, post) });
  const hello: IntakeHello = { version: WIRE_VERSION, engine, token };
  socket.write(encodeFrameHead(FRAME.hello, hello));
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // When the other side is gone, the server knows, and says where the next one is. An engine
    // that cannot connect for another reason would be waited for in vain.
    if (!GONE.includes(error.code ?? '')) throw error;
  });
  socket.on('close', () => {
    if (block !== undefined) giveBack(block.buffer);
    block = undefined;
  });
}

parentPort?.on('message', takeFrom);
