import { AUTO } from './candidate.js';
import type { Choice } from './choice.js';
import type { Finding } from './finding.js';

/** A finding with the letter that stands for it in the table and the plot. */
export interface Marked {
  readonly finding: Finding;
  readonly mark: string;
  readonly role: 'auto' | 'best' | 'other';
}

export const AUTO_MARK = 'A';
export const BEST_MARK = '*';
const LETTERS = 'abcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ';

/** In the order given; when the letters are used up, they begin again. */
export function markAll(findings: readonly Finding[], { best }: Choice): Marked[] {
  let next = 0;
  return findings.map((finding) => {
    if (finding.candidate.name === AUTO.name) return { finding, mark: AUTO_MARK, role: 'auto' };
    if (finding === best) return { finding, mark: BEST_MARK, role: 'best' };
    return { finding, mark: LETTERS[next++ % LETTERS.length] ?? '·', role: 'other' };
  });
}
