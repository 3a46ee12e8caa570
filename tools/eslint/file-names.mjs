import path from 'node:path';
import { EVERYWHERE, IN_IDENTIFIERS, SPELLING, formsOf } from './plain-words.mjs';

const WORDS = formsOf(EVERYWHERE, IN_IDENTIFIERS, SPELLING);
const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/;
const MIGRATION = /^\d{13}-[A-Z][A-Za-z0-9]*(\.spec)?$/;

/** Requires kebab-case file and folder names in plain words; migrations are `<unix ms>-<AddThing>.ts`. */
export const fileNames = {
  meta: {
    type: 'suggestion',
    docs: { description: 'require kebab-case file names without replaced words' },
    schema: [],
    messages: {
      style: 'Name the file in kebab-case with a role suffix (api-keys.service.ts); "{{ name }}" is not.',
      migration: 'Name a migration <unix ms>-<AddThing>.ts; "{{ name }}" is not.',
      word: 'The path "{{ name }}" contains "{{ word }}"; use: {{ use }}.',
    },
  },
  create(context) {
    return {
      Program(node) {
        const relative = path.relative(context.cwd, context.filename);
        const name = path.basename(relative).replace(/\.(ts|mts|mjs|js)$/, '');
        const isMigration = path.basename(path.dirname(relative)) === 'migrations' && /^\d/.test(name);
        if (isMigration && !MIGRATION.test(name)) context.report({ node, messageId: 'migration', data: { name } });
        if (!isMigration && !KEBAB.test(name)) context.report({ node, messageId: 'style', data: { name } });
        const word = relative.split(/[^A-Za-z0-9]+/).find((part) => WORDS.has(part.toLowerCase()));
        if (word) {
          const use = WORDS.get(word.toLowerCase());
          context.report({ node, messageId: 'word', data: { name: relative, word, use } });
        }
      },
    };
  },
};
