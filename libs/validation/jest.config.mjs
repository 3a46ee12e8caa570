export default {
  displayName: 'validation',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
