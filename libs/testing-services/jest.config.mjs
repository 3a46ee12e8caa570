export default {
  displayName: 'testing-services',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
