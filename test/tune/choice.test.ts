import { describe, expect, it } from 'vitest';
import { choose, finalistsOf, rank } from '../../src/tune/choice.js';
import type { Finding } from '../../src/tune/finding.js';
import { found, foundAuto, pacedVisit, visitOf } from '../helpers/findings.js';

const names = (findings: readonly Finding[]): string[] =>
  findings.map(({ candidate }) => candidate.name);

describe('without a target', () => {
  const auto = foundAuto([2, 1, 2], visitOf(97, 50));
  const slow = found([1, 2, 1], visitOf(80, 20));
  const fast = found([2, 1, 8], visitOf(100, 900));

  it('throughput decides', () => {
    expect(names(rank([auto, slow, fast], undefined))).toEqual([
      ...['2 × 1, batch 8', 'auto', '1 × 2, batch 1'],
    ]);
    const choice = choose([auto, slow, fast], undefined);
    expect(choice.best).toBe(fast);
    expect(choice.auto).toBe(auto);
    expect(choice.autoShare).toBeCloseTo(0.97);
  });

  it('those that were only searched do not win against finalists', () => {
    const lucky = found([1, 2, 4], visitOf(500, 1, 0));
    expect(choose([auto, slow, fast, lucky], undefined).best).toBe(fast);
    expect(choose([lucky], undefined).best).toBe(lucky);
  });

  it('auto is always in the finals, so the best four besides it are chosen', () => {
    const all = [1, 2, 4, 8, 16].map((batch) => found([2, 1, batch], visitOf(batch, batch, 0)));
    expect(names(finalistsOf([auto, ...all], undefined))).toEqual(
      [16, 8, 4, 2].map((batch) => `2 × 1, batch ${String(batch)}`),
    );
  });

  it('there may be nothing to choose from', () => {
    expect(choose([], undefined)).toMatchObject({ best: undefined, autoShare: null });
    expect(choose([auto], undefined)).toMatchObject({ auto, autoShare: null });
    const dead = found([1, 1, 1], visitOf(0, null));
    expect(choose([auto, dead], undefined).autoShare).toBeNull();
  });
});

describe('with a target', () => {
  const quick = found([2, 1, 1], pacedVisit(80, 40));
  const good = found([2, 1, 4], pacedVisit(90, 99));
  const late = found([2, 1, 16], pacedVisit(120, 101));
  const later = found([2, 1, 32], pacedVisit(130, 300));
  /** Its latencies are fine because it refuses half of the requests. */
  const refusing = found([1, 2, 4], pacedVisit(500, 10, 0.5));

  it('the highest throughput of those that meet it wins', () => {
    const ranked = rank([refusing, later, late, quick, good], 100);
    expect(ranked).toEqual([good, quick, late, later, refusing]);
    expect(choose(ranked, 100)).toMatchObject({ best: good, bestMeetsTarget: true });
  });

  it('the nearest is best where none meets it', () => {
    const silent = found([1, 2, 1], pacedVisit(10, null));
    const choice = choose([silent, refusing, late, quick, good], 30);
    expect(choice).toMatchObject({ best: quick, bestMeetsTarget: false });
    expect(rank([silent, refusing], 30)).toEqual([refusing, silent]);
  });

  it('auto meets it or does not', () => {
    expect(choose([foundAuto([2, 1, 2], pacedVisit(1, 99))], 100).autoMeetsTarget).toBe(true);
    expect(choose([foundAuto([2, 1, 2], pacedVisit(1, 101))], 100).autoMeetsTarget).toBe(false);
  });
});
