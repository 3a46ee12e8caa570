export default {
  displayName: 'provisioning',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
