/** How nvidia-smi is asked for tables, and how they are read. */
export const SMI_FORMAT = '--format=csv,noheader,nounits';

/** `undefined` for a line that does not have this many: a warning, or nothing. */
export function smiFields(line: string, count: number): string[] | undefined {
  const fields = line.split(',').map((field) => field.trim());
  return fields.length === count ? fields : undefined;
}

/** `[N/A]`, `[Not Supported]` and the like are no numbers. */
export function smiNumber(field: string | undefined): number | undefined {
  return field !== undefined && /^\d{1,9}$/.test(field) ? Number(field) : undefined;
}
