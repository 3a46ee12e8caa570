export default {
  displayName: 'errors',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
