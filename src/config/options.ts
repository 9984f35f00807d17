import { type ConfigKey, ConfigSchema } from './schema.js';

/** How a setting is written outside the config file. */
export interface Option {
  readonly key: ConfigKey;
  readonly flag: string;
  readonly env: string;
  readonly kind: 'string' | 'number' | 'boolean' | 'list';
  readonly placeholder: string;
  readonly default: unknown;
  readonly description: string;
  readonly isFileOnly: boolean;
  /** For a switch that is on: what becomes of it with `--no-`. */
  readonly without: string | undefined;
}

interface PlainSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly PlainSchema[];
  /** What it looks like, where its type does not say that. */
  readonly placeholder?: string;
  readonly without?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
}

export const OPTIONS: readonly Option[] = Object.entries(ConfigSchema.properties).map(
  ([key, schema]) => {
    const plain = schema as unknown as PlainSchema;
    return {
      key: key as ConfigKey,
      flag: key.replaceAll('_', '-'),
      env: `SHOAL_${key.toUpperCase()}`,
      kind: kindOf(plain),
      placeholder: placeholderOf(plain),
      default: plain.default,
      description: plain.description ?? '',
      isFileOnly: key === 'models' || key === 'tenants',
      without: plain.without,
    };
  },
);

/** How its flag is written: a switch that is on can only be turned off. */
export function flagOf({ flag, without }: Option): string {
  return without === undefined ? `--${flag}` : `--no-${flag}`;
}

/** Text from a flag or the environment as the value that the schema expects. */
export function parseOption(option: Option, text: string): unknown {
  switch (option.kind) {
    case 'string':
      return text;
    case 'list':
      return text
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== '');
    case 'boolean':
      return { true: true, '1': true, false: false, '0': false }[text.toLowerCase()] ?? text;
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  }
}

function kindOf(schema: PlainSchema): Option['kind'] {
  if (schema.anyOf?.some(({ type }) => type === 'integer')) return 'number';
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'array':
      return 'list';
    default:
      return 'string';
  }
}

function placeholderOf(schema: PlainSchema): string {
  if (schema.placeholder !== undefined) return schema.placeholder;
  if (schema.enum !== undefined) return schema.enum.join('|');
  if (schema.anyOf !== undefined) return `auto|${rangeOf(schema.anyOf.at(-1) ?? {})}`;
  switch (schema.type) {
    case 'integer':
    case 'number':
      return rangeOf(schema);
    case 'boolean':
      return 'true|false';
    case 'array':
      return 'a,b,…';
    default:
      return 'text';
  }
}

function rangeOf({ minimum, maximum }: PlainSchema): string {
  return `${String(minimum)}..${String(maximum)}`;
}
