import run from './jest.config.mjs';
import preset from './jest.preset.js';

/** Runs the groups of spec files that `./fleet test` writes. @see docs/decisions/0026-spec-groups.md */
export default {
  ...preset,
  testTimeout: run.testTimeout,
  workerIdleMemoryLimit: run.workerIdleMemoryLimit,
  workerGracefulExitTimeout: run.workerGracefulExitTimeout,
  roots: [process.env.SPEC_GROUPS],
  testMatch: ['**/*.spec.js'],
};
