/** An address as it is shown: whoever reads a log need not know the password. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    // It may be anything; a password ends with the last @ at the latest.
    return text.replace(/^(\w+:\/\/)?.*@/s, '$1').replace(/[?#].*$/s, '');
  }
  const url = new URL(text);
  url.username = '';
  url.password = '';
  url.search = '';
  url.hash = '';
  return url.href;
}

/** What to send for the credentials in an address; `fetch` does not take them in there. */
export function splitCredentials(text: string): { url: string; authorization?: string } {
  const url = new URL(text);
  if (url.username === '' && url.password === '') return { url: url.href };
  const pair = `${decoded(url.username)}:${decoded(url.password)}`;
  url.username = '';
  url.password = '';
  const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  return { url: url.href, authorization };
}

/** A `%` that is no escape stays as it is, as with pip. */
function decoded(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}
