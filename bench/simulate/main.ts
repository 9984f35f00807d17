/** Plays all scenarios and writes the tables into docs/batching.md. Usage: npm run simulate */
import { writeSection } from './page.js';
import { compareAll, compareWaiting } from './scenarios.js';
import { details, patternList, summary } from './table.js';

const results = compareAll();
const waiting = compareWaiting();
const sections = {
  patterns: patternList(),
  waiting: details(waiting),
  simulate: `${summary(results)}\n\n${details(results)}`,
};
for (const [name, text] of Object.entries(sections)) {
  writeSection(name, text);
  console.log(`${text}\n`);
}
console.log('written to docs/batching.md');
