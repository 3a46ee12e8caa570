const swc = (parser, transform) => [
  '@swc/jest',
  {
    swcrc: false,
    jsc: { target: 'es2023', parser, transform, keepClassNames: true },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
  },
];

/** Packages that ship ES modules only or call `import()`: Jest's CommonJS loader needs them down-levelled. */
const esm = [
  '@nestjs/[^/]+',
  '@noble/hashes',
  '@scure/base',
  '@sindresorhus/[^/]+',
  '@vscode/tree-sitter-wasm',
  '(@borewit|@tokenizer)/[^/]+',
  'escape-string-regexp',
  'file-type',
  'is-network-error',
  'jose',
  'oauth4webapi',
  'openid-client',
  'p-retry',
  'p-timeout',
  'strtok3',
  'token-types',
  'uint8array-extras',
];

module.exports = {
  testEnvironment: 'node',
  testTimeout: 90_000, // a busy machine is no failure: what must not take long says so itself
  testMatch: ['<rootDir>/src/**/*.spec.ts'],
  moduleFileExtensions: ['js', 'ts', 'mjs', 'cjs', 'json', 'node'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/out-tsc/'],
  testEnvironmentOptions: { customExportConditions: ['node', '@rmm/source'] },
  transform: {
    '^.+\\.ts$': swc(
      { syntax: 'typescript', decorators: true },
      { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    ),
    '^.+\\.m?js$': swc({ syntax: 'ecmascript' }, {}),
  },
  transformIgnorePatterns: [`/node_modules/(?!(${esm.join('|')})/)`],
  coverageProvider: 'v8',
  coverageReporters: ['text-summary', 'lcov'],
};
