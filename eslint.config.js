import eslint from '@eslint/js';
import vitest from '@vitest/eslint-plugin';
import tseslint from 'typescript-eslint';

/** Each of these packages is used in one place; the rest of the code does not know them. */
const HOMES = {
  'onnxruntime-node': 'src/engine-process/onnx-runtime.ts',
  '@julusian/jpeg-turbo': 'src/image/turbo.ts',
  sharp: 'src/image/vips.ts',
  'prom-client': 'src/telemetry/metrics.ts',
  pino: 'src/telemetry/log.ts',
  'pino-pretty': 'src/telemetry/log.ts',
  bullmq: 'src/jobs/redis/bull.ts',
  ioredis: 'src/jobs/redis/connection.ts',
  '@photostructure/sqlite': 'src/jobs/embedded/database.ts',
  yaml: 'src/config/load.ts',
  '@fastify/swagger': 'src/http/openapi.ts',
  '@fastify/swagger-ui': 'src/http/openapi.ts',
};
const restricted = (file) => ({
  paths: Object.entries(HOMES)
    .filter(([, home]) => home !== file)
    .map(([name, home]) => ({ name, message: `Only ${home} may import it.` })),
});

export default tseslint.config(
  { ignores: ['dist', 'dist-bench', 'coverage', 'node_modules'] },
  eslint.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['eslint.config.js', 'tools/start.mjs'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/explicit-function-return-type': [
        'error',
        { allowExpressions: true, allowTypedFunctionExpressions: true },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      // `as number` reads better than `!` in index arithmetic, and `!` stays forbidden.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      'max-lines': ['error', { max: 300 }],
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', restricted('')],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only src/config/environment.ts reads it.' },
      ],
    },
  },
  ...[...new Set(Object.values(HOMES))].map((file) => ({
    files: [file],
    rules: { '@typescript-eslint/no-restricted-imports': ['error', restricted(file)] },
  })),
  { files: ['src/config/environment.ts'], rules: { 'no-restricted-properties': 'off' } },
  {
    files: ['test/**/*.ts'],
    plugins: { vitest },
    rules: {
      ...vitest.configs.recommended.rules,
      'vitest/expect-expect': ['error', { assertFunctionNames: ['expect*', 'fc.assert'] }],
      'vitest/no-focused-tests': 'error',
      '@typescript-eslint/explicit-function-return-type': 'off',
      'vitest/valid-expect': ['error', { maxArgs: 2 }],
    },
  },
  {
    files: ['**/*.js', '**/*.mjs'],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } },
    rules: {
      ...tseslint.configs.disableTypeChecked.rules,
      '@typescript-eslint/explicit-function-return-type': 'off',
    },
  },
);
