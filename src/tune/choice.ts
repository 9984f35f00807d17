import { AUTO } from './candidate.js';
import type { Finding } from './finding.js';

/** Below this share of answers a server does not keep up, whatever its latencies are. */
const OK_SHARE = 0.99;
const FINALISTS = 4;

/** What a search comes to. */
export interface Choice {
  readonly auto: Finding | undefined;
  /** The best of all others; the nearest to the target where none meets it. */
  readonly best: Finding | undefined;
  readonly bestMeetsTarget: boolean;
  readonly autoMeetsTarget: boolean;
  /** Throughput of auto over that of the best. */
  readonly autoShare: number | null;
}

/** Whether independent clients were answered in time; without a target all is well. */
function meetsTarget({ p99Ms, okShare }: Finding, targetP99Ms: number | undefined): boolean {
  if (targetP99Ms === undefined) return true;
  return p99Ms !== null && p99Ms <= targetP99Ms && okShare >= OK_SHARE;
}

/** Best first: those that meet the target by throughput, then the others by how near they come. */
export function rank(
  findings: readonly Finding[],
  targetP99Ms: number | undefined,
): readonly Finding[] {
  const meets = (finding: Finding): boolean => meetsTarget(finding, targetP99Ms);
  const nearness = ({ p99Ms, okShare }: Finding): number =>
    okShare < OK_SHARE ? Infinity : (p99Ms ?? Infinity);
  return findings.toSorted((a, b) => {
    if (meets(a) !== meets(b)) return meets(a) ? -1 : 1;
    // Two that are both infinitely far differ by nothing, not by NaN.
    const further = meets(a) || nearness(a) === nearness(b) ? 0 : nearness(a) - nearness(b);
    return further || b.imagesPerSecond - a.imagesPerSecond;
  });
}

/** Who is worth measuring again, besides auto. */
export function finalistsOf(
  findings: readonly Finding[],
  targetP99Ms: number | undefined,
): readonly Finding[] {
  return rank(findings.filter(isRival), targetP99Ms).slice(0, FINALISTS);
}

export function choose(findings: readonly Finding[], targetP99Ms: number | undefined): Choice {
  const auto = findings.find((finding) => !isRival(finding));
  const rivals = findings.filter(isRival);
  const finalists = rivals.filter(({ isFinalist }) => isFinalist);
  // Only runs of the same length are compared, where there are any.
  const [best] = rank(finalists.length > 0 ? finalists : rivals, targetP99Ms);
  return {
    auto,
    best,
    bestMeetsTarget: best !== undefined && meetsTarget(best, targetP99Ms),
    autoMeetsTarget: auto !== undefined && meetsTarget(auto, targetP99Ms),
    autoShare:
      auto === undefined || best === undefined || best.imagesPerSecond === 0
        ? null
        : auto.imagesPerSecond / best.imagesPerSecond,
  };
}

function isRival({ candidate }: Finding): boolean {
  return candidate.name !== AUTO.name;
}
