export default {
  displayName: 'partner-gateway',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
