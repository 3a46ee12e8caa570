export default {
  displayName: 'access',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
