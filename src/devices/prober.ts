import { CPU, type Device } from '../config/devices.js';
import type { EngineConfig, Ready } from '../engine/messages.js';
import type { Detection } from '../heads/detection.js';
import type { ImageInfo } from '../image/info.js';
import { disagreement } from './agreement.js';
import type { CheckPicture } from './check-pictures.js';
import { nameOf, type Variant } from './variant.js';

/** An engine process that serves nobody. */
export interface CheckProbe {
  ready(): Promise<Ready>;
  check(file: Uint8Array, image: ImageInfo, threshold: number): Promise<readonly Detection[]>;
  kill(): void;
}

export interface ProberHost {
  configFor(variant: Variant): EngineConfig;
  spawn(config: EngineConfig): CheckProbe;
  pictures(): readonly CheckPicture[];
  /** How long one probe may take. */
  limitMs(device: Device): number;
  /** Every device must work, not only some. */
  readonly isStrict: boolean;
  onWorks(variant: Variant, ready: Ready): void;
  onBroken(device: Device, reason: string): void;
}

/** Everything that the model gives: what is worth comparing is decided later. */
const THRESHOLD = 0;

type Found = readonly (readonly Detection[])[];

/**
 * Finds out whether a device really works: a throw-away engine loads the model there, and what it
 * finds in a few pictures is compared with what the CPU finds. Whatever happens to that engine,
 * the server has lost nothing but time.
 */
export class Prober {
  readonly #host: ProberHost;
  #pictures: readonly CheckPicture[] | undefined;
  #reference: Promise<Found> | undefined;

  constructor(host: ProberHost) {
    this.#host = host;
  }

  /** What the CPU finds in the first picture, once something was compared with it. */
  async expected(): Promise<readonly Detection[] | undefined> {
    return (await this.#reference)?.[0];
  }

  /** @throws why none of its devices, or in strict mode not all, can be used */
  async prove(variant: Variant): Promise<Variant> {
    this.#reference ??= this.#look({ devices: [CPU], precision: 'fp32' }).then(
      ({ found }) => found,
    );
    const reference = await this.#reference;
    const working: Device[] = [];
    const reasons: string[] = [];
    for (const device of variant.devices) {
      try {
        const alone = { ...variant, devices: [device] };
        const { found, ready } = await this.#look(alone);
        const difference = disagreement(reference, found);
        if (difference !== undefined) throw new Error(`it disagrees with the CPU: ${difference}`);
        this.#host.onWorks(alone, ready);
        working.push(device);
      } catch (error) {
        const { message } = error as Error;
        reasons.push(variant.devices.length > 1 ? `${nameOf(device)}: ${message}` : message);
        if (this.#host.isStrict) break;
        if (variant.devices.length > 1) this.#host.onBroken(device, message);
      }
    }
    if (working.length === 0 || (this.#host.isStrict && reasons.length > 0)) {
      throw new Error(reasons[0]);
    }
    return { ...variant, devices: working };
  }

  /** @param variant with one device */
  async #look(variant: Variant): Promise<{ readonly found: Found; readonly ready: Ready }> {
    const pictures = (this.#pictures ??= this.#host.pictures());
    const probe = this.#host.spawn(this.#host.configFor(variant));
    const ms = this.#host.limitMs(variant.devices[0] ?? CPU);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`it gave no answer within ${String(ms / 1000)} s`));
      }, ms);
    });
    try {
      const ready = await Promise.race([probe.ready(), late]);
      // Side by side, so that some of them run in one batch.
      const found = await Promise.race([
        Promise.all(pictures.map(({ file, image }) => probe.check(file, image, THRESHOLD))),
        late,
      ]);
      return { found, ready };
    } finally {
      clearTimeout(timer);
      probe.kill();
    }
  }
}
