export default {
  displayName: 'identity',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
