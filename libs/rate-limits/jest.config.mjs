export default {
  displayName: 'rate-limits',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
