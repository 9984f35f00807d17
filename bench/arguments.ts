import { parseArgs, type ParseArgsConfig } from 'node:util';

/** One option of a bench: what `--help` says about it, and how its text is read. */
export interface Setting<T> {
  /** None for one that stands alone. */
  readonly placeholder?: string;
  readonly help: string;
  readonly usual?: string;
  /** @throws with what is wrong, to be put behind the name of the option */
  readonly read: (text: string | undefined) => T;
}
export type Settings = Readonly<Record<string, Setting<unknown>>>;
export type Values<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

export const text = (placeholder: string, help: string): Setting<string | undefined> => ({
  placeholder,
  help,
  read: (given) => given,
});

export const textOr = (usual: string, placeholder: string, help: string): Setting<string> => ({
  placeholder,
  help,
  usual,
  read: (given = usual) => given,
});

export const flag = (help: string): Setting<boolean> => ({
  help,
  read: (given) => given !== undefined,
});

export const optionalNumber = (help: string): Setting<number | undefined> => ({
  placeholder: 'N',
  help,
  read: (given) => (given === undefined ? undefined : positive(given)),
});

export const number = (usual: number, help: string): Setting<number> => ({
  placeholder: 'N',
  help,
  usual: String(usual),
  read: (given) => (given === undefined ? usual : positive(given)),
});

export const choice = <const W extends string>(
  words: readonly W[],
  usual: NoInfer<W>,
  help: string,
): Setting<W> => ({
  placeholder: words.join('|'),
  help,
  usual,
  read: (given) => (given === undefined ? usual : oneOf(words, given)),
});

/** Several of them, with commas between. */
export const list = <const W extends string>(
  words: readonly W[],
  usual: readonly NoInfer<W>[],
  help: string,
): Setting<readonly W[]> => ({
  placeholder: 'a,b,…',
  help: `${help}: some of ${words.join(', ')}`,
  usual: usual.join(),
  read: (given) => given?.split(',').map((word) => oneOf(words, word)) ?? usual,
});

export function oneOf<W extends string>(words: readonly W[], given: string): W {
  const found = words.find((word) => word === given);
  if (found === undefined) throw new Error(`"${given}" is none of ${words.join(', ')}`);
  return found;
}

export function positive(given: string): number {
  const value = Number(given);
  if (!(value > 0 && value < Infinity)) throw new Error(`"${given}" is not a number above 0`);
  return value;
}

export interface Bench<S extends Settings> {
  /** As in `npm run NAME`. */
  readonly name: string;
  readonly about: string;
  readonly settings: S;
  /** Whether what stands behind two dashes is handed to the server. */
  readonly takesServerFlags?: boolean;
}

/** @throws with one line that says what is wrong */
export function parseArguments<S extends Settings>(
  bench: Bench<S>,
  args: readonly string[],
): { values: Values<S>; serverFlags: string[] } {
  const options: ParseArgsConfig['options'] = Object.fromEntries(
    Object.entries(bench.settings).map(([name, { placeholder }]) => [
      name,
      { type: placeholder === undefined ? 'boolean' : 'string' },
    ]),
  );
  const allowPositionals = bench.takesServerFlags ?? false;
  const given = parseArgs({ args: [...args], options, allowPositionals });
  const values = Object.entries(bench.settings).map(([name, { read }]) => {
    try {
      return [name, read(given.values[name]?.toString())];
    } catch (error) {
      throw new Error(`--${name}: ${(error as Error).message}`, { cause: error });
    }
  });
  return { values: Object.fromEntries(values) as Values<S>, serverFlags: given.positionals };
}

export function benchHelp({ name, about, settings, takesServerFlags }: Bench<Settings>): string {
  const flags = takesServerFlags === true ? ' [-- server flags]' : '';
  const lines = Object.entries(settings).map(([option, { placeholder, help, usual }]) => {
    const ending = usual === undefined ? '' : ` Default: ${usual}.`;
    const value = placeholder === undefined ? '' : ` <${placeholder}>`;
    return `  --${option}${value}\n      ${help}.${ending}`;
  });
  return `Usage: npm run ${name} -- [options]${flags}\n\n${about}\n\nOptions:\n${lines.join('\n')}`;
}

/** Reads what this process was started with. Prints help, or what is wrong, and ends. */
export function forThisProcess<T>(
  bench: Bench<Settings>,
  parse: (args: readonly string[]) => T,
): T {
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    console.log(benchHelp(bench));
    process.exit(0);
  }
  try {
    return parse(args);
  } catch (error) {
    console.error(`${(error as Error).message}\nnpm run ${bench.name} -- --help says more.`);
    process.exit(2);
  }
}

export function readArguments<S extends Settings>(
  bench: Bench<S>,
): { values: Values<S>; serverFlags: string[] } {
  return forThisProcess(bench, (args) => parseArguments(bench, args));
}

/** Options that several benches have. */
export const IMAGES = text(
  'DIR',
  'A folder of JPEGs. Without it: photos that come with the dev dependencies',
);
export const JSON_FILE = text('FILE', 'Where to write the findings as JSON');
/** Of those that find the peak first and then offer shares and multiples of it. */
export const PEAK_SETTINGS = {
  images: IMAGES,
  form: choice(['json', 'raw'], 'json', 'What requests look like'),
  concurrency: number(16, 'Connections while the peak is found'),
  json: JSON_FILE,
};
