export default {
  projects: ['<rootDir>/apps/!(fleet-e2e)/jest.config.mjs', '<rootDir>/libs/*/jest.config.mjs'],
};
