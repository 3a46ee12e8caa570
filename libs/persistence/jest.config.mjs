export default {
  displayName: 'persistence',
  preset: '../../jest.preset.js',
  coverageDirectory: '<rootDir>/coverage',
};
