import { adviceFor, configLines } from './advice.js';
import { choose, rank } from './choice.js';
import { AUTO_MARK, BEST_MARK, type Marked, markAll } from './marks.js';
import { scatterPlot } from './scatter.js';
import { scatterSvg } from './svg.js';
import { findingsTable } from './table.js';
import type { TuneOutcome } from './tuner.js';

export interface TuneReport {
  readonly text: string;
  readonly svg: string;
  /** What a program wants to know: plain JSON. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** The outcome of a search in all its forms. */
export function reportOf(
  { findings, failures }: Pick<TuneOutcome, 'findings' | 'failures'>,
  about: { readonly model: string; readonly targetP99Ms: number | undefined },
): TuneReport {
  const { targetP99Ms } = about;
  const choice = choose(findings, targetP99Ms);
  const advice = adviceFor(choice, targetP99Ms);
  // One short run is not as good as several long ones, so those who had no more come last.
  const ranked = rank(findings, targetP99Ms).toSorted(
    (a, b) => Number(b.isFinalist) - Number(a.isFinalist),
  );
  const marked = markAll(ranked, choice);
  const config = configLines(advice.settings);
  const xTitle = `p99 ms, ${targetP99Ms === undefined ? 'at the limit' : 'at the rate'}`;
  const { auto, best, autoShare } = choice;
  return {
    text: [
      findingsTable(marked, best),
      ...failures.map(({ name, reason }) => `"${name}" did not work: ${reason}`),
      '',
      ...plot(marked, xTitle),
      '',
      advice.sentence,
      ...(config.length === 0 ? [] : ['', '# shoal.config.yaml', ...config]),
    ].join('\n'),
    svg: scatterSvg(marked, { title: `shoal tune: ${about.model}`, xTitle, targetP99Ms }),
    facts: {
      auto: auto?.candidate.name ?? null,
      best: best?.candidate.name ?? null,
      autoShare,
      autoMeetsTarget: choice.autoMeetsTarget,
      bestMeetsTarget: choice.bestMeetsTarget,
      advice: advice.sentence,
      config: advice.settings,
      candidates: marked
        .map(({ finding }) => finding)
        .map(({ candidate, ...rest }) => ({
          name: candidate.name,
          settings: candidate.settings,
          ...rest,
        })),
      failures,
    },
  };
}

function plot(marked: readonly Marked[], xTitle: string): string[] {
  const legend = `${AUTO_MARK} auto, ${BEST_MARK} best of the others, letters as in the table`;
  const lines = scatterPlot(marked, xTitle);
  return lines.length === 0 ? [] : [...lines, '', legend];
}
