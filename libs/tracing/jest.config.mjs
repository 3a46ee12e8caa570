export default {
  displayName: 'tracing',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
