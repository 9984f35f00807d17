import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const ECDSA_SHA256 = '06082a8648ce3d040302';
const COMMON_NAME = '0603550403';
const SUBJECT_ALT_NAME = '0603551d11';
const DAY_MS = 86_400_000;

/** A certificate that vouches for itself, made on the spot: no key has to be kept anywhere. */
export function certify(names: readonly string[], validUntil = Date.now() + DAY_MS): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(0x30, hex(ECDSA_SHA256));
  const who = der(0x30, der(0x31, der(0x30, hex(COMMON_NAME), der(0x0c, Buffer.from('receiver')))));
  const body = der(
    0x30,
    der(0xa0, der(0x02, hex('02'))),
    der(0x02, Buffer.concat([hex('01'), randomBytes(8)])),
    algorithm,
    who,
    der(0x30, time(validUntil - 30 * DAY_MS), time(validUntil)),
    who,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, der(0x30, hex(SUBJECT_ALT_NAME), der(0x04, altNames(names))))),
  );
  const signature = createSign('sha256').update(body).sign(privateKey);
  const whole = der(0x30, body, algorithm, der(0x03, hex('00'), signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}

function altNames(names: readonly string[]): Buffer {
  return der(
    0x30,
    ...names.map((name) =>
      /^[\d.]+$/.test(name)
        ? der(0x87, Buffer.from(name.split('.').map(Number)))
        : der(0x82, Buffer.from(name)),
    ),
  );
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(text));
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}
