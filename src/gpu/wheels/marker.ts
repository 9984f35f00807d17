import { normalizeName } from './package-name.js';
import { compareVersions, parseVersion } from './version.js';

/** What markers can ask about. */
export interface MarkerContext {
  readonly extra: string;
  readonly arch: string;
}

/**
 * Whether the condition of a requirement holds (PEP 508).
 * @throws when it is not understood: a wrong guess would install what is not needed
 */
export function markerHolds(marker: string, { extra, arch }: MarkerContext): boolean {
  const values = {
    extra: normalizeName(extra),
    platform_machine: arch === 'arm64' ? 'aarch64' : 'x86_64',
    platform_system: 'Linux',
    sys_platform: 'linux',
    os_name: 'posix',
  };
  return new MarkerReader(marker, new Map(Object.entries(values))).read();
}

/** About Python, of which none is used, or about the kernel: these are left out of account. */
const OPEN =
  /^(python_(full_)?version|(platform_)?python_implementation|implementation_(name|version)|platform_(release|version))$/;
const TOKEN = /\s*([()]|===|[=!<>~]=|[<>]|"[^"]*"|'[^']*'|\w[\w.]*)\s*/y;
const OPERATOR = /^(===|[=!<>~]=|[<>]|in|not in)$/;
/** No real one has as many, and brackets cannot be deeper than this. */
const MAX_TOKENS = 500;

class MarkerReader {
  readonly #marker: string;
  readonly #values: ReadonlyMap<string, string>;
  readonly #tokens: string[] = [];

  constructor(marker: string, values: ReadonlyMap<string, string>) {
    this.#marker = marker;
    this.#values = values;
    const pattern = new RegExp(TOKEN);
    while (pattern.lastIndex < marker.length) {
      const token = pattern.exec(marker)?.[1];
      if (token === undefined || this.#tokens.length === MAX_TOKENS) throw this.#problem();
      this.#tokens.push(token);
    }
  }

  read(): boolean {
    const holds = this.#either();
    if (this.#tokens.length > 0) throw this.#problem();
    return holds;
  }

  // All parts are read even when the outcome is known: what follows must be understood, too.
  #either(): boolean {
    const all = [this.#both()];
    while (this.#takes('or')) all.push(this.#both());
    return all.includes(true);
  }

  #both(): boolean {
    const all = [this.#one()];
    while (this.#takes('and')) all.push(this.#one());
    return !all.includes(false);
  }

  #one(): boolean {
    if (!this.#takes('(')) return this.#comparison();
    const holds = this.#either();
    if (!this.#takes(')')) throw this.#problem();
    return holds;
  }

  #comparison(): boolean {
    let isExtra = this.#tokens[0] === 'extra';
    const left = this.#operand();
    const operator = this.#takes('not') ? `not ${this.#next()}` : this.#next();
    isExtra ||= this.#tokens[0] === 'extra';
    const right = this.#operand();
    if (!OPERATOR.test(operator)) throw this.#problem();
    if (left === undefined || right === undefined) return true;
    // Names of extras can be written in several ways.
    const [a, b] = isExtra ? [normalizeName(left), normalizeName(right)] : [left, right];
    return compare(a, operator, b) ?? fail(this.#problem());
  }

  /** `undefined` for what is left out of account. */
  #operand(): string | undefined {
    const token = this.#next();
    if (/^["']/.test(token)) return token.slice(1, -1);
    // Old wheels write os.name.
    const name = token.replaceAll('.', '_');
    if (OPEN.test(name)) return undefined;
    return this.#values.get(name) ?? fail(this.#problem());
  }

  #takes(token: string): boolean {
    const isNext = this.#tokens[0] === token;
    if (isNext) this.#tokens.shift();
    return isNext;
  }

  #next(): string {
    return this.#tokens.shift() ?? fail(this.#problem());
  }

  #problem(): Error {
    return new Error(`the condition "${this.#marker.slice(0, 200)}" is not understood`);
  }
}

/** As Python does it: as versions where both are some, else as text. */
function compare(a: string, operator: string, b: string): boolean | undefined {
  if (operator === 'in' || operator === 'not in') return b.includes(a) === (operator === 'in');
  const [left, right] = [parseVersion(a), parseVersion(b)];
  const areVersions = left !== undefined && right !== undefined;
  const order = areVersions ? compareVersions(left, right) : a < b ? -1 : a > b ? 1 : 0;
  switch (operator) {
    case '==':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    case '===':
      return a === b;
    default:
      return undefined;
  }
}

function fail(error: Error): never {
  throw error;
}
