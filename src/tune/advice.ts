import { figure } from '../load/chart.js';
import type { CandidateSettings, PlanFacts } from './candidate.js';
import { type Choice, rank } from './choice.js';

export interface Advice {
  readonly sentence: string;
  /** What to set; empty when nothing is to be set. */
  readonly settings: CandidateSettings;
}

/** Plans that differ by less are taken for equal: another run may turn them around. */
const TIE = 0.03;

/** What to do with what was found. */
export function adviceFor(choice: Choice, targetP99Ms: number | undefined): Advice {
  const { auto, best, autoShare } = choice;
  if (auto === undefined) return nothing('The server was not measured with its own plan.');
  if (best === undefined || autoShare === null) {
    return nothing('There is nothing to compare the plan of the server with.');
  }
  if (!choice.bestMeetsTarget && !choice.autoMeetsTarget) {
    const [nearest = auto] = rank([auto, best], targetP99Ms);
    return nothing(
      `No plan was found that keeps the p99 at or below ${String(targetP99Ms)} ms; ` +
        `"${nearest.candidate.name}" comes nearest with ${milliseconds(nearest.p99Ms)}.`,
    );
  }
  if (!choice.bestMeetsTarget) {
    return nothing(
      'Only the plan the server made for itself meets the target; there is nothing to set.',
    );
  }
  const settings = differing(best.candidate.settings, auto.plan);
  if (Object.keys(settings).length === 0 && (!choice.autoMeetsTarget || autoShare < 1 - TIE)) {
    return nothing(
      'The best found is the plan the server made for itself, measured better: ' +
        'the machine is too noisy to tell more, and there is nothing to set.',
    );
  }
  if (!choice.autoMeetsTarget) {
    return {
      sentence:
        `Set ${listed(settings)}: the p99 is ${milliseconds(best.p99Ms)}, ` +
        `where the plan the server made for itself has ${milliseconds(auto.p99Ms)}.`,
      settings,
    };
  }
  const reaches = `The plan the server made for itself reaches ${percent(autoShare)} of the best found`;
  if (autoShare >= 1 - TIE) return nothing(`${reaches}; there is nothing to set.`);
  return {
    sentence:
      `Set ${listed(settings)}: ${figure(best.imagesPerSecond)} images/s. ${reaches} ` +
      `(${figure(auto.imagesPerSecond)} images/s).`,
    settings,
  };
}

/** Lines for shoal.config.yaml. */
export function configLines(settings: CandidateSettings): string[] {
  return Object.entries(settings).map(([key, value]) => `${key}: ${String(value)}`);
}

/** What must be set to get from the plan that the server has to this one. */
export function differing(settings: CandidateSettings, plan: PlanFacts): CandidateSettings {
  const has: Readonly<Record<string, unknown>> = { ...plan };
  return Object.fromEntries(Object.entries(settings).filter(([key, value]) => has[key] !== value));
}

function nothing(sentence: string): Advice {
  return { sentence, settings: {} };
}

function listed(settings: CandidateSettings): string {
  const parts = Object.entries(settings).map(([key, value]) => `${key} to ${String(value)}`);
  return [parts.slice(0, -1).join(', '), parts.at(-1)].filter(Boolean).join(' and ');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function milliseconds(value: number | null): string {
  return value === null ? 'none' : `${figure(value)} ms`;
}
