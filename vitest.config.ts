import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globals: false,
    env: { NODE_ENV: 'test' },
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: ['test/integration/**'] },
      },
      {
        extends: true,
        test: {
          // What clients see must not depend on how many processes receive their requests.
          name: 'fronts',
          include: ['test/integration/{admission,auth,crash,predict}.test.ts'],
          env: { SHOAL_HTTP_WORKERS: '2' },
          sequence: { groupOrder: 1 },
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          // Each starts real servers; side by side they would only measure each other.
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 30_000,
        },
      },
    ],
  },
});
