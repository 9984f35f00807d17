import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { setByHand } from '../../src/tune/candidate.js';
import { choose, rank } from '../../src/tune/choice.js';
import type { Finding } from '../../src/tune/finding.js';
import { type Dot, placeLabels } from '../../src/tune/labels.js';
import { type Marked, markAll } from '../../src/tune/marks.js';
import { reportOf } from '../../src/tune/report.js';
import { linearScale, logScale, ticksOf } from '../../src/tune/scale.js';
import { scatterPlot } from '../../src/tune/scatter.js';
import { scatterSvg } from '../../src/tune/svg.js';
import { findingsTable } from '../../src/tune/table.js';
import { found, foundAs, foundAuto, pacedVisit, planOf, visitOf } from '../helpers/findings.js';
import { expectWellFormed } from '../helpers/xml.js';

const mark = (findings: Finding[], target?: number): Marked[] =>
  markAll(rank(findings, target), choose(findings, target));
const SOME = [
  foundAuto([2, 1, 2], visitOf(98, 50)),
  found([2, 1, 8], visitOf(100, 200)),
  found([1, 2, 1], visitOf(80, 25, 0)),
];

describe('the table', () => {
  it('has a line per candidate, the best first', () => {
    const lines = findingsTable(mark(SOME), SOME[1]).split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/split +max batch +images\/s +of best +p50 ms +p99 ms +memory MiB$/);
    expect(lines[1]).toMatch(/^\* +2 × 1 +8 +100 +100 % +100 +200 +256 +best$/);
    expect(lines[2]).toMatch(/^A +2 × 1 +2 +98\.0 +98 % +25\.0 +50\.0 +256 +auto$/);
    expect(lines[3]).toMatch(/^a +1 × 2 +1 .* searched only$/);
  });

  it('has columns for windows and rates only where there are any', () => {
    const fixed = foundAs(
      setByHand({ sessions: 2, threads: 1 }, 4, 5),
      planOf(2, 1, 4, { batching: 'fixed', window_ms: 5 }),
      pacedVisit(100, 40, 0.995),
    );
    const table = findingsTable(mark([fixed, SOME[0] as Finding], 50), fixed);
    expect(table).toMatch(/max batch +window ms +images\/s +of best +at rate\/s +answered/);
    expect(table).toMatch(/^\* +2 × 1 +4 +5 +100 +100 % +70\.0 +100 % /m);
    expect(table).toMatch(/^A +2 × 1 +2 +– .*n\/a/m);
  });

  it('says what is not known, and shows a wide session', () => {
    const unknown = foundAs(
      setByHand({ sessions: 4, threads: 1 }, 1, undefined),
      planOf(4, 1, 1, { wide_threads: 4 }),
      { ...visitOf(0, null), memoryBytes: null },
    );
    expect(findingsTable(mark([unknown]), undefined)).toMatch(/4 × 1 \+ 1 × 4 .*n\/a +n\/a +n\/a/);
  });
});

describe('the plot in characters', () => {
  it('shows more throughput higher and more latency to the right', () => {
    const lines = scatterPlot(mark(SOME), 'p99 ms');
    const place = (letter: string) => {
      const row = lines.findIndex((line, at) => at > 0 && line.split('│')[1]?.includes(letter));
      return { row, column: lines[row]?.indexOf(letter) ?? -1 };
    };
    expect(place('*').row).toBeLessThan(place('A').row);
    expect(place('A').row).toBeLessThan(place('a').row);
    expect(place('*').column).toBeGreaterThan(place('A').column);
    expect(place('A').column).toBeGreaterThan(place('a').column);
    expect(lines.at(-1)).toContain('p99 ms');
  });

  it('keeps its shape whatever is measured', () => {
    const rate = fc.double({ min: 0, max: 1e6, noNaN: true });
    const latency = fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }));
    fc.assert(
      fc.property(fc.array(fc.tuple(rate, latency), { maxLength: 60 }), (visits) => {
        const all = visits.map(([imagesPerSecond, p99Ms], at) =>
          found([at + 1, 1, 1], visitOf(imagesPerSecond, p99Ms)),
        );
        const lines = scatterPlot(mark(all), 'p99 ms');
        const hasDots = visits.some(([, p99Ms]) => p99Ms !== null);
        expect(lines).toHaveLength(hasDots ? 16 : 0);
        const widest = Math.max(0, ...lines.map((line) => line.length));
        expect(widest).toBeLessThanOrEqual(80);
        expectWellFormed(
          scatterSvg(mark(all), { title: 'any', xTitle: 'p99 ms', targetP99Ms: 50 }),
        );
      }),
    );
  });
});

describe('the picture', () => {
  const texts = { title: 'a <model> & "more"', xTitle: 'p99 ms', targetP99Ms: undefined };

  it('has a dot and a label per candidate, with auto and the best marked', () => {
    const svg = scatterSvg(mark(SOME), texts);
    expectWellFormed(svg);
    expect(svg.match(/<circle /g)).toHaveLength(3);
    expect(svg.match(/<circle class="auto"/g)).toHaveLength(1);
    expect(svg.match(/<circle class="best"/g)).toHaveLength(1);
    for (const label of ['>auto: 2 × 1, batch 2<', '>best: 2 × 1, batch 8<', '>1 × 2, batch 1<']) {
      expect(svg).toContain(label);
    }
    expect(svg).toContain('a &lt;model&gt; &amp; &quot;more&quot;');
    expect(svg).toContain('prefers-color-scheme: dark');
    expect(svg).not.toContain('<line class="target"');
  });

  it('shows the target', () => {
    const svg = scatterSvg(mark(SOME), { ...texts, targetP99Ms: 1000 });
    expect(svg).toContain('<line class="target"');
  });

  it('keeps labels apart', () => {
    const dots: Dot[] = Array.from({ length: 8 }, (_, at) => {
      return { x: 100 + at, y: 100, radius: 4, label: `candidate ${String(at)}` };
    });
    const labels = placeLabels(dots, { left: 0, right: 400 });
    expect(labels.map(({ text }) => text)).toEqual(dots.map(({ label }) => label));
    const places = labels.map(({ x, y }) => `${String(x > 100)} ${String(y)}`);
    expect(new Set(places).size).toBe(8);
  });
});

describe('scales', () => {
  const values = fc.array(fc.double({ min: 0, max: 1e7, noNaN: true }));

  it('hold all values, and have a few round ticks', () => {
    fc.assert(
      fc.property(values, fc.constantFrom('linear', 'log'), (all, kind) => {
        const scale = kind === 'log' ? logScale(all) : linearScale(all);
        for (const value of all) {
          expect(scale.at(value)).toBeGreaterThanOrEqual(0);
          expect(scale.at(value)).toBeLessThanOrEqual(1);
        }
        const ticks = ticksOf(scale, kind);
        expect(ticks.length).toBeLessThanOrEqual(34);
        for (const tick of ticks) expect(Number.isFinite(scale.at(tick))).toBe(true);
      }),
    );
    expect(ticksOf(logScale([10, 1000]), 'log')).toEqual([10, 20, 50, 100, 200, 500, 1000]);
    expect(ticksOf({ ...linearScale([]), low: 80, high: 101 }, 'linear')).toEqual([80, 90, 100]);
  });
});

describe('the report', () => {
  it('ends with what to set, as lines of a config file', () => {
    const findings = [
      foundAuto([2, 1, 2], visitOf(50, 50)),
      found([1, 2, 2], visitOf(100, 50)),
      found([1, 2, 4], visitOf(80, 70, 0)),
    ];
    const failures = [{ name: '1 × 2, batch 8', reason: 'no memory' }];
    const { text, facts } = reportOf(
      { findings, failures },
      { model: 'one', targetP99Ms: undefined },
    );
    expect(text).toMatch(/\n\n# shoal\.config\.yaml\nsessions: 1\nthreads: 2$/);
    expect(text).toContain('"1 × 2, batch 8" did not work: no memory');
    expect(facts).toMatchObject({
      auto: 'auto',
      best: '1 × 2, batch 2',
      autoShare: 0.5,
      config: { sessions: 1, threads: 2 },
    });
  });

  it('ends with the advice where there is nothing to set', () => {
    const { text } = reportOf(
      { findings: SOME, failures: [] },
      { model: 'one', targetP99Ms: undefined },
    );
    expect(text).toMatch(/there is nothing to set\.$/);
    expect(text).not.toContain('shoal.config.yaml');
  });
});
