export default {
  displayName: 'outbound',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
