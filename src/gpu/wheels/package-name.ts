/** Package names as indexes write them (PEP 503): people use several spellings. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}
