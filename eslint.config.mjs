import nx from '@nx/eslint-plugin';
import prettier from 'eslint-config-prettier';
import importX from 'eslint-plugin-import-x';
import jsoncParser from 'jsonc-eslint-parser';
import tseslint from 'typescript-eslint';
import rmm from './tools/eslint/index.mjs';
import { EVERYWHERE, formsOf, NAMES, SPELLING } from './tools/eslint/plain-words.mjs';

const services = ['identity', 'credentials', 'partner-gateway', 'provisioning', 'webhook-dispatcher'];

/** Enforces the dependency table of docs/architecture.md. */
const depConstraints = [
  {
    sourceTag: 'type:app',
    onlyDependOnLibsWithTags: ['type:contract', 'type:platform', 'type:testing', 'type:stores'],
  },
  { sourceTag: 'type:platform', onlyDependOnLibsWithTags: ['type:platform', 'type:contract', 'type:stores'] },
  { sourceTag: 'type:contract', onlyDependOnLibsWithTags: ['type:contract'] },
  { sourceTag: 'type:stores', onlyDependOnLibsWithTags: [] },
  { sourceTag: 'type:testing', onlyDependOnLibsWithTags: ['type:contract', 'type:platform', 'type:stores'] },
  { sourceTag: 'type:sdk', onlyDependOnLibsWithTags: [] },
  { sourceTag: 'type:e2e', onlyDependOnLibsWithTags: ['type:contract', 'type:testing', 'type:sdk'] },
  { sourceTag: 'scope:fleet', onlyDependOnLibsWithTags: ['scope:fleet'] },
  ...services.map((name) => ({
    sourceTag: `scope:${name}`,
    onlyDependOnLibsWithTags: [`scope:${name}`, 'scope:fleet'],
  })),
];

/** Packages, then our libs, then relative paths; each group in alphabetical order. */
const importOrder = {
  groups: [['builtin', 'external'], 'internal', ['parent', 'sibling', 'index']],
  pathGroups: [{ pattern: '@rmm/**', group: 'internal' }],
  pathGroupsExcludedImportTypes: [],
  alphabetize: { order: 'asc', caseInsensitive: true },
};

export default [
  { ignores: ['**/dist', '**/out-tsc', '**/coverage', '**/generated', '.data', '.nx'] },
  ...nx.configs['flat/base'],
  ...nx.configs['flat/typescript'],
  ...tseslint.configs.recommendedTypeCheckedOnly.map((c) => ({ ...c, files: ['**/*.ts'] })),
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@nx/enforce-module-boundaries': ['error', { enforceBuildableLibDependency: true, depConstraints }],
    },
  },
  {
    files: ['**/*.ts', '**/*.mts', '**/*.mjs'],
    plugins: { 'import-x': importX, rmm },
    rules: {
      'import-x/order': ['error', importOrder],
      'no-restricted-syntax': ['error', { selector: 'PrivateIdentifier', message: 'Use `private` instead of `#`.' }],
      'rmm/file-names': 'error',
    },
  },
  {
    files: ['**/*.ts', '**/*.mts', '**/*.mjs'],
    ignores: ['tools/eslint/**'], // names the words
    rules: {
      'id-denylist': ['error', ...formsOf(EVERYWHERE, SPELLING).keys(), ...Object.keys(NAMES)],
      'rmm/plain-comments': 'error',
      'rmm/plain-identifiers': 'error',
    },
  },
  {
    files: ['apps/*/src/**/*.ts', 'libs/*/src/**/*.ts'],
    ignores: ['**/*.spec.ts', '**/*-spec.ts'],
    plugins: { rmm },
    rules: { 'rmm/one-access-decorator-per-route': 'error', 'rmm/role-suffix': 'error' },
  },
  {
    files: ['apps/*/src/**/*.ts'],
    ignores: ['**/*.spec.ts', '**/*.repository.ts', '**/migrations/**', 'apps/fleet-e2e/**'],
    rules: { 'rmm/queries-in-repositories': 'error' },
  },
  {
    files: ['**/*.spec.ts', '**/*.type-spec.ts', '**/test/**/*.ts', 'apps/fleet-e2e/**/*.ts', 'libs/testing/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['apps/*/package.json', 'libs/*/package.json', 'packages/*/package.json'],
    languageOptions: { parser: jsoncParser },
    rules: {
      '@nx/dependency-checks': [
        'error',
        {
          checkVersionMismatches: false,
          checkObsoleteDependencies: false,
          ignoredDependencies: ['tslib'],
          ignoredFiles: ['{projectRoot}/**/*.spec.ts', '{projectRoot}/test/**', '{projectRoot}/jest*.config.mjs'],
        },
      ],
    },
  },
  prettier,
];
