import { closestTo, ConfigError } from '../config/load.js';

/** Where `shoal serve` listens when it is not told otherwise. */
export const DEFAULT_URL = 'http://127.0.0.1:8000';

/** One line about a flag that is not there or lacks its value. */
export function usageError(error: Error, flags: readonly string[], command: string): ConfigError {
  const [sentence = ''] = error.message.split(/\. |\n/);
  const flag = /'--([\w-]+)/.exec(sentence)?.[1] ?? '';
  const close = flags.includes(flag) ? undefined : closestTo(flag, flags);
  const hint = close === undefined ? '' : `, did you mean --${close}?`;
  return new ConfigError(`${sentence}${hint}; ${command} --help lists all`);
}

export function number(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= min && value <= max)) {
    throw new ConfigError(
      `--${flag} must be a number from ${String(min)} to ${String(max)}, not "${text}"`,
    );
  }
  return value;
}

export function integer(flag: string, text: string, min: number, max: number): number {
  const value = number(flag, text, min, max);
  if (!Number.isInteger(value)) throw new ConfigError(`--${flag} must be a whole number`);
  return value;
}

export function choice<T extends string>(flag: string, text: string, all: readonly T[]): T {
  const chosen = all.find((one) => one === text);
  if (chosen === undefined) {
    throw new ConfigError(`--${flag} must be ${all.join(' or ')}, not "${text}"`);
  }
  return chosen;
}

export function serverUrl(text: string): URL {
  const full = text.includes('://') ? text : `http://${text}`;
  if (!URL.canParse(full) || !/^https?:/i.test(full)) {
    throw new ConfigError(`"${text}" is not a URL such as ${DEFAULT_URL}`);
  }
  return new URL(full);
}

export function sendableKey(text: string | undefined): string | undefined {
  if (text !== undefined && !/^[\x21-\x7e]+$/.test(text)) {
    throw new ConfigError('--api-key has characters that cannot be sent');
  }
  return text;
}
