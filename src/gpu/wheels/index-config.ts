import { ConfigError } from '../../config/load.js';
import type { Host } from '../host.js';
import { shownUrl } from '../net/address.js';
import { type PipSetting, pipSettings } from './pip-config.js';

export const PYPI = 'https://pypi.org/simple';

export interface IndexFlags {
  readonly indexUrl?: string | undefined;
  readonly extraIndexUrls?: readonly string[] | undefined;
}

/**
 * The indexes that pip would ask, found in the same places: flags, then `PIP_…` variables, then
 * its config files. So whoever has set up a mirror for pip has set it up for this, too.
 * @throws ConfigError that says where a wrong address stands
 */
export function indexUrls(host: Host, home: string, flags: IndexFlags = {}): string[] {
  const settingOf = pipSettings(host, home);
  const noIndex = settingOf('no-index');
  const isClosed = /^(1|y|yes|t|true|on)$/i.test(noIndex?.value ?? '');
  if (isClosed && flags.indexUrl === undefined) {
    const source = noIndex?.source ?? '';
    throw new ConfigError(`${source} tells pip to ask no index; name one with --index-url`);
  }
  const main = flagged('--index-url', flags.indexUrl) ?? settingOf('index-url');
  const more = isClosed ? undefined : settingOf('extra-index-url');
  const extra =
    flags.extraIndexUrls?.map((value) => ({ value, source: '--extra-index-url' })) ??
    words(more?.value ?? '').map((value) => ({ value, source: more?.source ?? '' }));
  return [...new Set([main ?? { value: PYPI, source: '' }, ...extra].map(addressIn))];
}

/** Checked here: later on nobody would know where it came from. */
function addressIn({ value, source }: PipSetting): string {
  const url = value.trim().replace(/\/+$/, '');
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new ConfigError(
      `the address of an index in ${source} must be https://… or http://…, not "${shownUrl(url)}"`,
    );
  }
  return url;
}

function flagged(flag: string, value: string | undefined): PipSetting | undefined {
  return value === undefined ? undefined : { value, source: flag };
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
