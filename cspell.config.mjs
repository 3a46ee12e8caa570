import { EVERYWHERE, SPELLING } from './tools/eslint/plain-words.mjs';

/** `door->authenticator`: the word, and what cspell suggests instead. */
const flagged = (table) =>
  Object.entries(table).flatMap(([forms, use]) => forms.split(' ').map((form) => `${form}->${use.split(',')[0]}`));

/**
 * Reports words that this project replaces, and common misspellings; other unknown words (names, abbreviations) pass.
 * Identifiers, comments, messages, test titles and documents are read alike.
 */
export default {
  version: '0.2',
  language: 'en-US',
  unknownWords: 'report-common-typos',
  caseSensitive: false,
  flagWords: [...flagged(EVERYWHERE), ...flagged(SPELLING)],
  words: ['adresse', 'creatd', 'nmae', 'raed'], // misspelled on purpose, or German
  maxDuplicateProblems: 100,
  files: ['**/*.{ts,mts,mjs,md,yml,yaml,json,sh}', '.env.example', 'fleet'],
  ignorePaths: [
    '**/node_modules/**',
    '**/dist/**',
    '**/out-tsc/**',
    '.data/**',
    '.nx/**',
    'package-lock.json',
    'third_party/**',
    'cspell.config.mjs', // names a word
    'tools/eslint/**', // names the words
    '**/openapi-examples.json', // recorded responses
    '**/generated/**',
    'docs/api/*.json', // generated
    '**/templates/de.json', // German mail texts
    '**/texts/de.json', // German texts of pages
  ],
};
