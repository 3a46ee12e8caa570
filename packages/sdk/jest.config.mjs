export default {
  displayName: 'sdk',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
