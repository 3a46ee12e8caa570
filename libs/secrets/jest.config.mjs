export default {
  displayName: 'secrets',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
