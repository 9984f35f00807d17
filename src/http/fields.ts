import type { Static, TObject } from 'typebox';
import { Compile } from 'typebox/compile';
import { ShoalError } from '../errors.js';

/** What each field takes, in words. */
const EXPECTATIONS: Readonly<Record<string, string>> = {
  confidence_threshold: 'a number from 0 to 1',
  model: 'a name from GET /models',
  priority: '"high", "normal" or "low"',
  expires_in: 'a whole number of seconds from 1 to 2592000',
  webhook_url: 'a URL of at most 2048 characters',
};

/** Checks what a request says besides its images. @param hint which fields there are */
export function fieldChecker<Schema extends TObject>(
  schema: Schema,
  hint: string,
): (value: Readonly<Record<string, unknown>>) => Static<Schema> {
  const validator = Compile(schema);
  return (value) => {
    if (validator.Check(value)) return value;
    const unknown = Object.keys(value).find((key) => !Object.hasOwn(schema.properties, key));
    if (unknown !== undefined) {
      const name = JSON.stringify(unknown.slice(0, 64));
      throw new ShoalError('invalid_request', `There is no field ${name}. ${hint}`);
    }
    const [error] = validator.Errors(value);
    const name = error?.instancePath.split('/')[1] ?? '';
    throw new ShoalError('invalid_request', `"${name}" must be ${EXPECTATIONS[name] ?? 'valid'}.`);
  };
}

const NUMBER = /^\s*-?(\d+(\.\d+)?|\.\d+)(e[+-]?\d+)?\s*$/i;
const NUMERIC = ['confidence_threshold', 'expires_in'];

/** Queries and form fields are text; what does not look like a number stays text and fails. */
export function numbersFromText(
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const isNumber =
        NUMERIC.includes(name) &&
        typeof value === 'string' &&
        value.length <= 64 &&
        NUMBER.test(value);
      return [name, isNumber ? Number(value) : value];
    }),
  );
}
