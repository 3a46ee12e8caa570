export default {
  displayName: 'webhook-dispatcher',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
