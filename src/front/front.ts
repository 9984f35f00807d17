import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { ByteBudget } from '../admission/byte-budget.js';
import { tenantsByKey } from '../admission/tenants.js';
import { Lifecycle } from '../http/lifecycle.js';
import { EventLoopMonitor } from '../telemetry/event-loop.js';
import { createLog } from '../telemetry/log.js';
import { Metrics } from '../telemetry/metrics.js';
import { Channel } from './channel.js';
import { createFrontApp } from './front-app.js';
import { IntakeServer } from './intake-server.js';
import { removeFolder } from './private-folder.js';
import type { ToFront, ToServer, Welcome } from './protocol.js';
import { Proxy } from './proxy.js';
import { RemotePredictor } from './remote-predictor.js';

/** How long the server process need not know what is held here, and what has closed. */
const TELL_MS = 20;

interface Parts {
  readonly app: FastifyInstance;
  readonly predictor: RemotePredictor;
  readonly intakes: IntakeServer;
  readonly metrics: Metrics;
  readonly budget: ByteBudget;
  readonly lifecycle: Lifecycle;
  readonly maxConnections: number;
}

/** A process that receives requests. It ends when the server process does. */
export class Front {
  readonly #channel: Channel<ToFront, ToServer>;
  #parts: Parts | undefined;
  /** What was said before it could be listened to. */
  readonly #early: ToFront[] = [];
  #toldBytes = 0;
  #connections = 0;
  #untoldClosed = 0;
  #newsTimer: NodeJS.Timeout | undefined;

  constructor(socket: Duplex) {
    this.#channel = new Channel<ToFront, ToServer>(socket, {
      onMessage: (message) => {
        this.#handle(message);
      },
      news: () => this.#news(),
      onClose: () => {
        // The server process has ended, in whatever way; nothing can be answered any more.
        process.exit(0);
      },
    });
  }

  #news(): ToServer[] {
    clearTimeout(this.#newsTimer);
    this.#newsTimer = undefined;
    const news: ToServer[] = [];
    const bytes = this.#parts?.budget.ownBytes ?? 0;
    if (bytes !== this.#toldBytes) news.push(['bytes', bytes]);
    this.#toldBytes = bytes;
    if (this.#untoldClosed > 0) news.push(['closed', this.#untoldClosed]);
    this.#untoldClosed = 0;
    return news;
  }

  /** What has changed is told with the next message, or soon without one. */
  #tellSoon(): void {
    this.#newsTimer ??= setTimeout(() => {
      this.#channel.flush();
    }, TELL_MS);
  }

  async #start(welcome: Welcome): Promise<void> {
    // Without a failure it ends only with the server process, which may have left it behind.
    process.once('exit', (code) => {
      if (code === 0) removeFolder(welcome.folder);
    });
    const { config, token, innerPath, maxConnections } = welcome;
    const send = (message: ToServer): void => {
      this.#channel.send(message);
    };
    const [log, metrics, lifecycle] = [createLog(config), new Metrics(), new Lifecycle()];
    const eventLoop = new EventLoopMonitor();
    const tenants = tenantsByKey(config);
    const budget = new ByteBudget(config.max_inflight_bytes);
    const intakes = new IntakeServer(token, (engine) => {
      send(['broken', engine]);
    });
    const order = [...tenants.values()];
    const predictor = new RemotePredictor({ ...welcome, tenants: order, intakes, send });
    const proxy = new Proxy(innerPath, lifecycle);
    metrics.onCollect(() => {
      metrics.observeProcess(eventLoop);
    });
    const shared = { config, log, metrics, lifecycle, tenants, predictor, budget };
    const app = await createFrontApp({ ...shared, proxy });
    budget.onChange = () => {
      this.#tellSoon();
    };

    await intakes.listen(welcome.intakePath);
    await app.listen({ path: welcome.httpPath });
    this.#parts = { app, predictor, intakes, metrics, budget, lifecycle, maxConnections };
    send(['ready']);
    for (const message of this.#early) this.#handle(message);
  }

  /** A connection that the server process has accepted; none when it was closed meanwhile. */
  take(socket: Socket | undefined): void {
    this.#channel.send(['took']);
    if (socket === undefined || this.#parts === undefined) {
      this.#countClosed();
      return;
    }
    this.#connections++;
    socket.once('close', () => {
      this.#connections--;
      this.#countClosed();
    });
    if (this.#connections > this.#parts.maxConnections) socket.destroy();
    else this.#parts.app.server.emit('connection', socket);
  }

  #countClosed(): void {
    this.#untoldClosed++;
    this.#tellSoon();
  }

  async #drain({ app, lifecycle }: Parts, acceptMs: number, graceMs: number): Promise<void> {
    lifecycle.startDraining();
    const cutOff = await lifecycle.drain(app.server, acceptMs, graceMs);
    await app.close();
    this.#channel.send(['drained', cutOff]);
  }

  async #collect({ metrics }: Parts, question: number): Promise<void> {
    this.#channel.send(['metrics', question, await metrics.read()]);
  }

  #handle(message: ToFront): void {
    if (message[0] === 'welcome') {
      void this.#start(message[1]);
      return;
    }
    if (message[0] === 'ping') {
      this.#channel.send(['pong']);
      return;
    }
    const parts = this.#parts;
    if (parts === undefined) {
      this.#early.push(message);
      return;
    }
    const { predictor, intakes, budget } = parts;
    switch (message[0]) {
      case 'entered':
        predictor.entered(message);
        break;
      case 'refused':
        predictor.refused(message);
        break;
      case 'assessed':
        predictor.assessed(message);
        break;
      case 'send':
        predictor.send(message);
        break;
      case 'answer':
      case 'failed':
        predictor.settled(message);
        break;
      case 'release':
        predictor.release(message);
        break;
      case 'hash':
        predictor.hash(message);
        break;
      case 'crowded':
        predictor.setCrowded(message);
        break;
      case 'gone':
        intakes.forget(message[1]);
        break;
      case 'bytes':
        budget.othersBytes = message[1];
        break;
      case 'collect':
        void this.#collect(parts, message[1]);
        break;
      case 'drain':
        void this.#drain(parts, message[1], message[2]);
        break;
    }
  }
}
