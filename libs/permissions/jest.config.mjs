export default {
  displayName: 'permissions',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
