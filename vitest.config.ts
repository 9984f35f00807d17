import { defineConfig } from 'vitest/config';

/** These compare durations: beside others they would measure those, too. */
const ALONE = 'test/integration/{admission,profile,protection}.test.ts';

/** Much of their time they wait for something, and they share neither ports nor folders. */
const SIDE_BY_SIDE = { maxWorkers: 3, sequence: { groupOrder: 1 } };

/** Each starts real processes, on a machine that may be slow. */
const PATIENT = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    globals: false,
    env: { NODE_ENV: 'test' },
    // The test's own time-out is the limit: a machine that is slow for a second fails nothing.
    expect: { poll: { timeout: PATIENT.testTimeout } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/integration/**'],
          maxWorkers: '100%',
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: [ALONE],
          ...SIDE_BY_SIDE,
          ...PATIENT,
        },
      },
      {
        extends: true,
        test: {
          // What clients see must not depend on how many processes receive their requests.
          name: 'fronts',
          include: ['test/integration/{auth,bad-input,crash,jobs-follow,predict,raw-http}.test.ts'],
          env: { SHOAL_HTTP_WORKERS: '2' },
          ...SIDE_BY_SIDE,
          ...PATIENT,
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: [ALONE],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          ...PATIENT,
        },
      },
    ],
  },
});
