export default {
  displayName: 'credentials',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
