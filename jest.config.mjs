export default {
  testTimeout: 30_000, // of the whole run; the projects' own counts only when one is run alone
  projects: ['<rootDir>/apps/!(fleet-e2e)/jest.config.mjs', '<rootDir>/libs/*/jest.config.mjs'],
};
