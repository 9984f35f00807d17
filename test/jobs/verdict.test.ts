import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERRORS, type ErrorCode, ShoalError } from '../../src/errors.js';
import { conclude, type ImageOutcome, outcomeOf } from '../../src/jobs/verdict.js';

const problem = { code: 'model_failed', detail: 'x' } as const;
const DONE: ImageOutcome = { kind: 'done', result: { detections: [], inference_ms: 1 } };
const outcome = fc.constantFrom<ImageOutcome>(
  DONE,
  { kind: 'bad', problem },
  { kind: 'fault', problem },
  { kind: 'absent', problem },
);

describe('outcomeOf', () => {
  it('tells bad images from failing engines and from engines that are not there', () => {
    const kinds = Object.fromEntries(
      (Object.keys(ERRORS) as ErrorCode[]).map((code) => [
        code,
        outcomeOf(new ShoalError(code, 'x')).kind,
      ]),
    );
    expect(kinds).toMatchObject({
      invalid_image: 'bad',
      image_too_costly: 'bad',
      image_quarantined: 'bad',
      model_failed: 'fault',
      model_output_invalid: 'fault',
      out_of_memory: 'fault',
      engine_unavailable: 'absent',
      deadline_exceeded: 'absent',
    });
  });

  it('says nothing about errors that nobody expected', () => {
    expect(outcomeOf(new Error('/secret/path'))).toEqual({
      kind: 'fault',
      problem: { code: 'internal_error', detail: 'Something went wrong; the log says more.' },
    });
  });
});

describe('conclude', () => {
  const outcomes = fc.array(outcome, { minLength: 1, maxLength: 6 });
  const kindsOf = (all: readonly ImageOutcome[]): Set<string> =>
    new Set(all.map(({ kind }) => kind));

  it('tries again only what was not the image’s own fault, and faults only twice', () => {
    fc.assert(
      fc.property(
        outcomes,
        fc.nat(3),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (all, tries, random) => {
          const verdict = conclude(all, tries, random);
          const kinds = kindsOf(all);
          const isRetried = kinds.has('absent') || (kinds.has('fault') && tries === 0);
          expect(verdict.kind === 'retry').toBe(isRetried);
          if (verdict.kind === 'retry') {
            expect(verdict.isBlamed).toBe(!kinds.has('absent'));
            expect(verdict.delayMs).toBeGreaterThan(0);
          }
        },
      ),
    );
  });

  it('completes a job with any result, and gives every image its entry', () => {
    fc.assert(
      fc.property(outcomes, (all) => {
        fc.pre(!kindsOf(all).has('absent'));
        const verdict = conclude(all, 1, 0.5);
        expect(verdict.kind).toBe(kindsOf(all).has('done') ? 'completed' : 'failed');
        const results = 'results' in verdict ? (verdict.results ?? []) : [];
        expect(results.map((result) => 'detections' in result)).toEqual(
          all.map(({ kind }) => kind === 'done'),
        );
      }),
    );
  });
});
