export default {
  displayName: 'config',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
