export default {
  displayName: 'contracts',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
