import type { Random } from '../../src/load/random.js';
import { type Colour, solidPng } from '../helpers/pictures.js';

/** What one client will hand in. All of it follows from the seed. */
export interface Submission {
  readonly n: number;
  readonly pictures: readonly Picture[];
  readonly form: 'json' | 'raw';
  readonly priority: 'high' | 'normal' | 'low';
  /** Sent with every attempt, so that there is one job however often it is sent. */
  readonly key: string | undefined;
  /** Sent once more although it was answered, as by a client that has lost the answer. */
  readonly isSentAgain: boolean;
  readonly hasWebhook: boolean;
  /** How long after the answer it is cancelled. */
  readonly cancelAfterMs: number | undefined;
}

export interface Picture {
  /** No other picture of the run has it. */
  readonly id: number;
  /** Its header is that of a picture, the rest is not. */
  readonly isBroken: boolean;
}

const MOST_PICTURES = 8;
/** What the numbers of submissions are kept in; see `thresholdOf`. */
const LARGEST = 999_998;

export function planSubmission(n: number, random: Random): Submission {
  if (n > LARGEST) throw new Error('there are no more numbers');
  const several = random() < 0.3;
  const count = several ? 2 + Math.floor(random() * (MOST_PICTURES - 2)) : 1;
  const pictures = Array.from({ length: count }, (_, at) => ({
    id: n * MOST_PICTURES + at,
    isBroken: random() < 0.03,
  }));
  const hasKey = random() < 0.5;
  return {
    n,
    pictures,
    form: count === 1 && random() < 0.5 ? 'raw' : 'json',
    priority: random() < 0.7 ? 'normal' : random() < 0.5 ? 'high' : 'low',
    key: hasKey ? `key-${String(n)}` : undefined,
    isSentAgain: hasKey && random() < 0.3,
    hasWebhook: random() < 0.25,
    cancelAfterMs: random() < 0.1 ? Math.floor(random() * 300) : undefined,
  };
}

/** A job says its threshold wherever it is shown, whatever has become of it: that names it. */
export function thresholdOf(n: number): number {
  return (n + 1) / 1_000_000;
}

export function numberOf(threshold: number): number {
  return Math.round(threshold * 1_000_000) - 1;
}

/** The stub answers with the colour of what it sees, so a result says which picture it is of. */
export function colourOf({ id }: Picture): Colour {
  return [id & 0xff, (id >> 8) & 0xff, (id >> 16) & 0xff];
}

export async function bytesOf(picture: Picture): Promise<Buffer> {
  const png = await solidPng(colourOf(picture));
  return picture.isBroken ? Buffer.concat([png.subarray(0, 40), Buffer.alloc(100)]) : png;
}

export interface HttpRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

export async function requestOf(submission: Submission, webhookUrl: string): Promise<HttpRequest> {
  const { n, form, key, priority, hasWebhook } = submission;
  const images = await Promise.all(submission.pictures.map(bytesOf));
  const options = {
    confidence_threshold: thresholdOf(n),
    priority,
    ...(hasWebhook && { webhook_url: webhookUrl }),
  };
  const keyed = key === undefined ? {} : { 'idempotency-key': key };
  if (form === 'raw') {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(options)) query.set(name, String(value));
    const headers = { 'content-type': 'image/png', ...keyed };
    return { path: `/jobs?${query.toString()}`, headers, body: images[0] ?? '' };
  }
  const texts = images.map((image) => image.toString('base64'));
  const [first] = texts;
  const content = texts.length === 1 ? { image_b64: first } : { images_b64: texts };
  const headers = { 'content-type': 'application/json', ...keyed };
  return { path: '/jobs', headers, body: JSON.stringify({ ...content, ...options }) };
}
