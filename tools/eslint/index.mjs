import { fileNames } from './file-names.mjs';
import { oneAccessDecoratorPerRoute } from './one-access-decorator-per-route.mjs';
import { plainComments } from './plain-comments.mjs';
import { plainIdentifiers } from './plain-identifiers.mjs';
import { queriesInRepositories } from './queries-in-repositories.mjs';
import { roleSuffix } from './role-suffix.mjs';

/** The lint rules of this workspace, as an ESLint plugin: `plugins: { rmm }, rules: { 'rmm/role-suffix': 'error' }`. */
export default {
  meta: { name: 'rmm', version: '0.0.0' },
  rules: {
    'file-names': fileNames,
    'one-access-decorator-per-route': oneAccessDecoratorPerRoute,
    'plain-comments': plainComments,
    'plain-identifiers': plainIdentifiers,
    'queries-in-repositories': queriesInRepositories,
    'role-suffix': roleSuffix,
  },
};
