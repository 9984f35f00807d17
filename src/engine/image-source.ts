import type { ItemMeta } from './messages.js';

/** An engine, for whoever gives images to it directly. */
export interface ItemTaker {
  /** Tells engines apart, over restarts as well. */
  readonly key: number;
  /** This item will not arrive, because whoever held the image is gone. */
  lost(id: number): void;
}

/** A file that another process holds, and gives to engines itself. */
export interface RemoteImage {
  readonly bytes: number;
  /** SHA-256 in hex, as far as it is known here. */
  readonly hash: string | undefined;
  askHash(then: (hash: string) => void): void;
  /** Has it given to an engine, with this as its description. */
  sendTo(taker: ItemTaker, meta: ItemMeta): void;
  /** This engine has no more use for it. */
  leave(taker: ItemTaker): void;
}

/** The file of an image: here, in as many pieces as it arrived in, or elsewhere. */
export type ImageSource = readonly Uint8Array[] | RemoteImage;

export function isRemote(image: ImageSource): image is RemoteImage {
  return 'sendTo' in image;
}

export function bytesOf(image: ImageSource): number {
  return isRemote(image) ? image.bytes : image.reduce((sum, piece) => sum + piece.length, 0);
}
