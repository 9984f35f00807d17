import { compareReleases, compareVersions, parseVersion, type Version } from './version.js';

type Operator = '~=' | '==' | '!=' | '<=' | '>=' | '<' | '>' | '===';

interface Clause {
  readonly operator: Operator;
  readonly version: Version;
  /** `== 1.2.*` */
  readonly isPrefix: boolean;
}

/** Versions that a package accepts of another, such as `~=13.0` or `>=1.2,!=1.3.*`. */
export class Specifier {
  readonly text: string;
  readonly #clauses: readonly Clause[];

  private constructor(text: string, clauses: readonly Clause[]) {
    this.text = text;
    this.#clauses = clauses;
  }

  /** @throws when it is not understood: a wrong guess would install what does not fit */
  static parse(text: string): Specifier {
    const parts = text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    return new Specifier(text.trim(), parts.map(parseClause));
  }

  /** Whether it asks for one version and no other. */
  get isPin(): boolean {
    return this.#clauses.some(
      ({ operator, isPrefix }) => (operator === '==' && !isPrefix) || operator === '===',
    );
  }

  get isAny(): boolean {
    return this.#clauses.length === 0;
  }

  allows(version: Version): boolean {
    return this.#clauses.every((clause) => matches(clause, version));
  }
}

function parseClause(text: string): Clause {
  const [, operator = '', rest = ''] = /^(~=|===|==|!=|<=|>=|<|>)\s*(.+)$/.exec(text) ?? [];
  const isPrefix = rest.endsWith('.*');
  const version = parseVersion(isPrefix ? rest.slice(0, -2) : rest);
  const mayBePrefix = operator === '==' || operator === '!=';
  if (version === undefined || (isPrefix && !mayBePrefix)) {
    throw new Error(`the version "${text}" is not understood`);
  }
  if (operator === '~=' && version.release.length < 2) {
    throw new Error(`the version "${text}" needs two numbers at least`);
  }
  return { operator: operator as Operator, version, isPrefix };
}

function matches({ operator, version: wanted, isPrefix }: Clause, version: Version): boolean {
  const order = compareVersions(version, wanted);
  switch (operator) {
    case '==':
      return isPrefix ? hasPrefix(version, wanted) : order === 0;
    case '!=':
      return isPrefix ? !hasPrefix(version, wanted) : order !== 0;
    case '~=':
      return order >= 0 && hasPrefix(version, { ...wanted, release: wanted.release.slice(0, -1) });
    case '>=':
      return order >= 0;
    case '<=':
      return order <= 0;
    case '>':
      // A later build of the same release is not a newer release.
      return order > 0 && (wanted.post !== undefined || !isSameRelease(version, wanted));
    case '<':
      return order < 0 && (wanted.pre !== undefined || !isSameRelease(version, wanted));
    case '===':
      return version.text === wanted.text;
  }
}

function hasPrefix(version: Version, { epoch, release }: Version): boolean {
  const start = release.map((_, at) => version.release[at] ?? 0);
  return version.epoch === epoch && compareReleases(start, release) === 0;
}

function isSameRelease(a: Version, b: Version): boolean {
  return a.epoch === b.epoch && compareReleases(a.release, b.release) === 0;
}
