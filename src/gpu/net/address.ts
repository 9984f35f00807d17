/** An address as it is shown: whoever reads a log need not know the password. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return text.replace(/\/\/[^/@]*@/, '//');
  const url = new URL(text);
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}

/** What to send for the credentials in an address; `fetch` does not take them in there. */
export function splitCredentials(text: string): { url: string; authorization?: string } {
  const url = new URL(text);
  if (url.username === '' && url.password === '') return { url: url.href };
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = '';
  url.password = '';
  const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  return { url: url.href, authorization };
}
