import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/config/load.js';
import { checkTarget, parseAllow } from '../../../src/jobs/webhooks/target.js';
import { expectCode } from '../../helpers/errors.js';
import { LOOPBACK_HOSTS, OTHER_PRIVATE_HOSTS } from './corpus.js';

function refuse(url: string, allow: readonly string[] = []): string {
  return expectCode('webhook_refused', () => checkTarget(url, parseAllow(allow)));
}

function expectAccepted(url: string, allow: readonly string[]): void {
  expect(checkTarget(url, parseAllow(allow)).url.href).toBe(new URL(url).href);
}

describe('the target of a webhook', () => {
  it.each([
    'https://example.com/hook?key=1#part',
    'http://example.com:8080',
    'HTTPS://EXAMPLE.COM./x',
    'https://münchen.example/',
    'https://1.1.1.1/',
    'https://127.0.0.1.nip.example/',
    'https://[2606:4700::1111]:444/',
    'https://example.com\\@127.0.0.1/',
    'https://localhost.example/',
    'https://notlocalhost/',
  ])('may be %s', (url) => {
    expect(checkTarget(url, []).url.href).toBe(new URL(url).href);
  });

  it.each([...LOOPBACK_HOSTS, ...OTHER_PRIVATE_HOSTS])('may not be at %s', (host) => {
    for (const scheme of ['http://', 'https://']) {
      const detail = refuse(`${scheme}${host}:8080/x`);
      expect(detail).toBe('The webhook URL is not allowed. It is not a public address.');
    }
  });

  it.each([
    ['', 'not a URL'],
    ['/hook', 'not a URL'],
    ['example.com/hook', 'not a URL'],
    ['http://', 'not a URL'],
    ['http://[::1', 'not a URL'],
    ['http://[fe80::1%25eth0]/', 'not a URL'],
    ['http://1.2.3.4.5/', 'not a URL'],
    ['http://example.com:99999/', 'not a URL'],
    ['http://a b/', 'not a URL'],
    ['http://./', 'no host'],
    ['ftp://example.com/', 'must begin with'],
    ['file:///etc/passwd', 'must begin with'],
    ['javascript:alert(1)', 'must begin with'],
    ['gopher://example.com/', 'must begin with'],
    ['ws://example.com/', 'must begin with'],
    ['unix:/run/x.sock', 'must begin with'],
    ['https://user@example.com/', 'no credentials'],
    ['https://:pass@example.com/', 'no credentials'],
    ['https://example.com@127.0.0.1/', 'no credentials'],
    [`https://example.com/${'a'.repeat(2048)}`, 'more than 2048 characters'],
  ])('may not be %j', (url, why) => {
    const detail = refuse(url);
    expect(detail).toContain(why);
    expect(detail).not.toContain('example');
  });

  it('may be private where that is allowed', () => {
    expectAccepted('http://10.1.2.3/', ['10.0.0.0/8']);
    expectAccepted('http://[fd00::7]/', ['fd00::/64']);
    expectAccepted('http://[::ffff:10.1.2.3]/', ['10.1.2.3']);
    expectAccepted('http://10.1.2.3/', ['::ffff:10.1.2.3']);
    refuse('http://10.1.2.4/', ['10.1.2.3']);
    refuse('http://[fd00:0:0:1::7]/', ['fd00::/64']);
    refuse('http://[64:ff9b::10.1.2.3]/', ['10.0.0.0/8']);
  });

  it('may be localhost where loopback is allowed', () => {
    expectAccepted('http://localhost/', ['127.0.0.1']);
    expectAccepted('http://x.localhost./', ['::1']);
    refuse('http://localhost/', ['10.0.0.0/8']);
  });
});

describe('the list of allowed addresses', () => {
  it.each(['', 'localhost', 'example.com', '10.0.0.0/33', '10.0.0.1/8', '10.0.0', '[::1]', '*'])(
    'cannot hold %j, and says so',
    (text) => {
      const parse = () => parseAllow(['10.0.0.1', text]);
      expect(parse).toThrow(ConfigError);
      expect(parse).toThrow(`"webhook_allow": ${JSON.stringify(text)} is neither`);
    },
  );
});
