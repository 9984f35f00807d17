import { describe, expect, it } from 'vitest';
import {
  benchHelp,
  choice,
  flag,
  list,
  number,
  parseArguments,
  text,
} from '../../bench/arguments.js';

const bench = {
  name: 'bench:some',
  about: 'Measures something.',
  takesServerFlags: true,
  settings: {
    seconds: number(5, 'How long'),
    form: choice(['json', 'raw'], 'json', 'What requests look like'),
    parts: list(['one', 'two'], ['one', 'two'], 'What to measure'),
    quick: flag('In short'),
    json: text('FILE', 'Where to'),
  },
};

describe('options of a bench', () => {
  it('are as usual when none are given', () => {
    expect(parseArguments(bench, [])).toEqual({
      values: {
        seconds: 5,
        form: 'json',
        parts: ['one', 'two'],
        quick: false,
        json: undefined,
      },
      serverFlags: [],
    });
  });

  it('are read, and what stands behind two dashes is left for the server', () => {
    const args = ['--seconds', '2.5', '--form', 'raw', '--parts', 'two', '--quick'];
    const { values, serverFlags } = parseArguments(bench, [...args, '--', '--max-batch', '8']);
    expect(values).toMatchObject({ seconds: 2.5, form: 'raw', parts: ['two'], quick: true });
    expect(serverFlags).toEqual(['--max-batch', '8']);
  });

  it.each([
    [['--seconds', 'soon'], '--seconds: "soon" is not a number above 0'],
    [['--seconds', '0'], '--seconds: "0" is not a number above 0'],
    [['--form', 'xml'], '--form: "xml" is none of json, raw'],
    [['--parts', 'one,three'], '--parts: "three" is none of one, two'],
  ])('refuse %j with what is wrong', (args, message) => {
    expect(() => parseArguments(bench, args)).toThrow(message);
  });

  it('refuse what is unknown, and flags for a server where there is none', () => {
    expect(() => parseArguments(bench, ['--second', '1'])).toThrow("Unknown option '--second'");
    const alone = { ...bench, takesServerFlags: false };
    expect(() => parseArguments(alone, ['--', '--port', '1'])).toThrow('--port');
  });

  it('are all in the help', () => {
    expect(benchHelp(bench)).toBe(`Usage: npm run bench:some -- [options] [-- server flags]

Measures something.

Options:
  --seconds <N>
      How long. Default: 5.
  --form <json|raw>
      What requests look like. Default: json.
  --parts <a,b,…>
      What to measure: some of one, two. Default: one,two.
  --quick
      In short.
  --json <FILE>
      Where to.`);
  });
});
