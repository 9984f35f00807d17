import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { type Duplex, PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { engineEnvironment } from '../config/environment.js';
import { deviceEnvironment } from '../gpu/device-environment.js';
import { bytesOf, type ImageSource, isRemote } from './image-source.js';
import type { Intakes } from './intakes.js';
import type {
  EngineConfig,
  Failed,
  Hello,
  ItemMeta,
  Measure,
  Measured,
  Pong,
  Ready,
  Results,
  Stuck,
} from './messages.js';
import { Pulse } from './pulse.js';
import { RemoteItems } from './remote-items.js';
import { encodeFrameHead, FRAME, type Frame, FrameReader, WIRE_VERSION } from './wire.js';

export interface EngineEvents {
  onReady(ready: Ready): void;
  onResults(results: Results): void;
  onPong(pong: Pong): void;
  onMeasured?(measured: Measured): void;
  onStuck?(stuck: Stuck): void;
  /** The last event, whatever ended the process. */
  onEnd(reason: string): void;
}

/** How many times as patient one is with an engine that loads, and at least for how long. */
const LOADING_PATIENCE = 3;
const MIN_LOADING_MS = 10_000;
/** Loading itself may take this many times as long: a driver can be stuck, too. */
const LOAD_PATIENCE = 30;
/** TensorRT builds the model anew, which may take many minutes. */
const BUILD_PATIENCE = 180;

/**
 * One engine process, from start to end. The two talk over a Unix socket pair that exists only as
 * open descriptors: there is no path to guess, to guard or to clean up, and when either side dies
 * the other one sees it close.
 */
export class EngineLink {
  readonly #config: EngineConfig;
  readonly #events: EngineEvents;
  readonly #child: ChildProcess;
  readonly #socket: Duplex;
  /** What the engine said was wrong, which is a better reason than its exit code. */
  #failure: string | undefined;
  #killedFor: string | undefined;
  #wasKilled = false;
  #hasEnded = false;
  readonly #intakes: Intakes | undefined;
  readonly #remote: RemoteItems;
  /** Loading may take minutes, but the engine's main thread has nothing to do with it. */
  readonly #loading: Pulse;
  readonly #loadTimer: NodeJS.Timeout;
  #isLoaded = false;

  /**
   * @param niceness above 0 it gives way to everything else on the machine
   * @param intakes for an engine that takes items from other processes as well
   */
  constructor(config: EngineConfig, events: EngineEvents, niceness = 0, intakes?: Intakes) {
    this.#config = config;
    this.#events = events;
    this.#intakes = intakes;
    this.#remote = new RemoteItems(intakes?.newKey() ?? 0, (results) => {
      events.onResults(results);
    });
    // Built code in either case: worker threads and children cannot be started from TypeScript.
    const entry = fileURLToPath(new URL('../../dist/engine-process/main.js', import.meta.url));
    // Lanes make little garbage, so a small young generation costs nothing and saves memory.
    const flags = ['--enable-source-maps', '--max-semi-space-size=1'];
    this.#child = spawn(process.execPath, [...flags, entry], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      env: { ...engineEnvironment(), ...deviceEnvironment(config.device, config.cacheFolder) },
    });
    if (niceness > 0 && this.#child.pid !== undefined) setPriority(this.#child.pid, niceness);
    this.#child.on('error', (error) => {
      this.#failure = error.message;
      // Without a process id it was never started, and there may be no other event.
      if (this.#child.pid === undefined) this.#end(error.message);
    });
    this.#child.on('close', (code, signal) => {
      // It may have ended by itself before it could be killed.
      const killedFor = signal === 'SIGKILL' ? this.#killedFor : undefined;
      const how = `it ended with ${signal ?? `code ${String(code)}`}`;
      this.#end(this.#failure ?? killedFor ?? how);
    });
    // Not there when the process could not be started, whatever the typings say.
    const socket = (this.#child.stdio as readonly unknown[] | undefined)?.[3];
    this.#socket = socket === undefined || socket === null ? new PassThrough() : (socket as Duplex);
    const reader = new FrameReader((frame) => {
      this.#handle(frame);
    });
    this.#socket.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        // Whatever an engine sends, it must not take the server with it.
        this.kill(`it sent what is not a frame: ${(error as Error).message}`);
      }
    });
    // Writing to an engine that has just died is expected; 'close' tells the rest.
    this.#socket.on('error', () => undefined);
    this.#loading = new Pulse(loadingPatienceMs(config), {
      ask: () => {
        this.sendPing();
      },
      onSilence: () => {
        this.kill('it did not answer while it was loading and was killed');
      },
    });
    this.#loading.start();
    const isBuilt = config.device.name === 'tensorrt';
    const loadMs = config.hangTimeoutMs * (isBuilt ? BUILD_PATIENCE : LOAD_PATIENCE);
    this.#loadTimer = setTimeout(() => {
      this.kill(`it was not loaded after ${String(Math.round(loadMs / 1000))} s and was killed`);
    }, loadMs).unref();
  }

  get isMakeshift(): boolean {
    return this.#config.isMakeshift === true;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** It did not end by itself. */
  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  /** All pieces go out in one system call; an image that is elsewhere goes its own way. */
  sendItem(meta: ItemMeta, image: ImageSource): void {
    if (isRemote(image)) {
      this.#remote.send(meta, image);
      return;
    }
    this.#socket.cork();
    this.#socket.write(encodeFrameHead(FRAME.item, meta, bytesOf(image)));
    for (const piece of image) this.#socket.write(piece);
    this.#socket.uncork();
  }

  sendCancel(id: number): void {
    this.#socket.write(encodeFrameHead(FRAME.cancel, { id }));
  }

  sendPing(): void {
    this.#socket.write(encodeFrameHead(FRAME.ping, undefined));
  }

  sendMeasure(measure: Measure): void {
    this.#socket.write(encodeFrameHead(FRAME.measure, measure));
  }

  /** The only way an engine is ended: native threads do not survive a polite exit. */
  kill(reason?: string): void {
    this.#wasKilled = true;
    this.#killFor(reason);
  }

  #killFor(reason?: string): void {
    this.#killedFor ??= reason;
    this.#child.kill('SIGKILL');
  }

  #end(reason: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#stopLoading();
    this.#events.onEnd(reason);
    this.#remote.end();
    this.#intakes?.gone(this.#remote.key);
  }

  #handle({ type, meta }: Frame): void {
    this.#loading.heard();
    switch (type) {
      case FRAME.hello: {
        const { version } = meta as Hello;
        if (version === WIRE_VERSION) {
          this.#socket.write(encodeFrameHead(FRAME.configure, this.#config));
          this.#joinIntakes();
        } else {
          this.kill(`it speaks protocol ${String(version)}; run the build again`);
        }
        break;
      }
      case FRAME.ready:
        this.#isLoaded = true;
        this.#stopLoading();
        this.#events.onReady(meta as Ready);
        break;
      case FRAME.failed:
        this.#failure = (meta as Failed).message;
        break;
      case FRAME.results:
        this.#remote.reported(meta as Results);
        break;
      case FRAME.pong:
        if (!isPong(meta)) throw new Error('a pong that says nothing');
        if (this.#isLoaded) this.#events.onPong(meta);
        break;
      case FRAME.measured:
        this.#events.onMeasured?.(meta as Measured);
        break;
      case FRAME.stuck:
        if (!isStuck(meta)) throw new Error('it is stuck in what is no list');
        this.#failure = 'a batch did not come back in time (hang_timeout_ms), and it was killed';
        this.#events.onStuck?.(meta);
        break;
      default:
        this.kill(`it sent an unknown frame ${String(type)}`);
    }
  }

  #stopLoading(): void {
    this.#loading.stop();
    clearTimeout(this.#loadTimer);
  }

  #joinIntakes(): void {
    this.#intakes?.join(this.#remote.key, {
      tell: (order) => {
        this.#socket.write(encodeFrameHead(FRAME.intake, order));
      },
      kill: (reason) => {
        // Connections break when it ends, which fronts may see before this process does.
        this.#killFor(reason);
      },
    });
  }
}

/** How long an engine that does not serve yet may take to answer: it may give way to others. */
export function loadingPatienceMs({ hangTimeoutMs }: EngineConfig): number {
  return Math.max(MIN_LOADING_MS, LOADING_PATIENCE * hangTimeoutMs);
}

/** What is read later, far from here, must be what it says it is. */
function isPong(meta: unknown): meta is Pong {
  const { rssBytes, drift } = (meta ?? {}) as Partial<Pong>;
  return typeof rssBytes === 'number' && typeof drift === 'number';
}

function isStuck(meta: unknown): meta is Stuck {
  return Array.isArray((meta as Partial<Stuck> | null | undefined)?.ids);
}
