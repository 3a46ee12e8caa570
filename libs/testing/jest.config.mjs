export default {
  displayName: 'testing',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
