export default {
  testTimeout: 90_000, // of the whole run; that of a project is used only when it runs alone
  workerIdleMemoryLimit: '700MB', // of heap after a spec file: a new worker starts with an empty one
  // A worker has no open handle at its end, but on a busy machine freeing its heap takes longer than Jest's 500 ms.
  workerGracefulExitTimeout: 15_000,
  projects: [
    '<rootDir>/apps/!(fleet-e2e)/jest.config.mjs',
    '<rootDir>/libs/*/jest.config.mjs',
    '<rootDir>/packages/*/jest.config.mjs',
  ],
};
