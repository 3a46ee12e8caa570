export default {
  displayName: 'openapi',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
