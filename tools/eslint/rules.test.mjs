import { RuleTester } from 'eslint';
import { after, describe, it } from 'node:test';
import tseslint from 'typescript-eslint';
import { fileNames } from './file-names.mjs';
import { plainComments } from './plain-comments.mjs';
import { plainIdentifiers } from './plain-identifiers.mjs';
import { queriesInRepositories } from './queries-in-repositories.mjs';
import { roleSuffix } from './role-suffix.mjs';

RuleTester.describe = describe;
RuleTester.it = it;
RuleTester.afterAll = after;

const tester = new RuleTester({ languageOptions: { parser: tseslint.parser } });
tester.run('plain-identifiers', plainIdentifiers, {
  valid: [
    { name: 'a name that contains a word as letters only', code: 'const outdoors = 1, heartbeatMs = 2, parkway = 3;' },
    { name: 'a use of a name that another package declares', code: 'router.door.standby.parked();' },
    { name: 'a static factory with a verb', code: 'class Key { static fromRow(row) { return row; } }' },
    { name: 'a key of an object literal', code: "fetch(url, { 'x-person': 1, person: 2 });" },
  ],
  invalid: [
    { name: 'a variable', code: 'const keyDoor = 1;', errors: [{ messageId: 'word' }] },
    { name: 'a constant', code: 'const KEY_DOOR = 1;', errors: [{ messageId: 'word' }] },
    {
      name: 'a destructured parameter',
      code: 'function f({ id, user: { person } }) {}',
      errors: [{ messageId: 'word' }],
    },
    {
      name: 'a parameter property',
      code: 'class A { constructor(private readonly parking: B) {} }',
      errors: [{ messageId: 'word' }],
    },
    {
      name: 'a class and its member',
      code: 'class PersonDto { verdict!: string; }',
      errors: [{ messageId: 'word' }, { messageId: 'word' }],
    },
    {
      name: 'a type and its member',
      code: 'type Axis = string; interface A { heard: boolean }',
      errors: [{ messageId: 'word' }, { messageId: 'word' }],
    },
    { name: 'British spelling', code: 'const organisationId = 1;', errors: [{ messageId: 'word' }] },
    { name: 'a replaced name', code: 'class PartnerMaker {}', errors: [{ messageId: 'name' }] },
    { name: 'a method that is no verb', code: 'class A { of(id) { return id; } }', errors: [{ messageId: 'method' }] },
  ],
});

tester.run('role-suffix', roleSuffix, {
  valid: [
    { name: 'a service', code: '@Injectable() class A {}', filename: 'api-keys.service.ts' },
    { name: 'a configuration provider', code: '@Injectable() class Config {}', filename: 'config.ts' },
    { name: 'an entity', code: "@Entity('api_key') class ApiKey {}", filename: 'api-key.entity.ts' },
    { name: 'a plain class', code: 'class RetryDelay {}', filename: 'retry-delay.ts' },
    {
      name: 'a provider of a lib',
      code: '@Injectable() class WorkerDatabase {}',
      filename: 'libs/a/src/worker-database.ts',
    },
  ],
  invalid: [
    { name: 'a provider without a suffix', code: '@Injectable() class A {}', filename: 'key-lookup.ts', errors: 1 },
    { name: 'an entity among DTOs', code: '@Entity() export class A {}', filename: 'a.dto.ts', errors: 1 },
  ],
});

tester.run('queries-in-repositories', queriesInRepositories, {
  valid: [
    { name: 'English', code: "log('select a role'); log('update failed'); log('Update the fleet'); log('with care');" },
    { name: 'a test title', code: "it('SELECTs nothing')" },
  ],
  invalid: [
    { name: 'a select', code: "tx.query('SELECT id FROM api_key')", errors: 1 },
    { name: 'a lower-case select', code: 'tx.query(`select id\n from api_key where id = ${id}`)', errors: 1 },
    { name: 'an insert', code: "tx.query('INSERT INTO api_key (id) VALUES ($1)')", errors: 1 },
    { name: 'a lower-case update', code: "tx.query('update api_key k set name = $1')", errors: 1 },
    { name: 'a common table expression', code: 'tx.query(`\n  WITH due AS (SELECT 1) SELECT * FROM due`)', errors: 1 },
  ],
});

tester.run('plain-comments', plainComments, {
  valid: [
    { name: 'a verb', code: '/** Returns the key. */ const a = 1;' },
    { name: 'a line comment', code: '// What follows is generated.\nconst a = 1;' },
  ],
  invalid: [
    {
      name: 'a clause without a subject',
      code: '/** What a key is for. */ const a = 1;',
      errors: [{ messageId: 'fragment' }],
    },
    {
      name: 'over several lines',
      code: '/**\n * Whose key it is.\n */ const a = 1;',
      errors: [{ messageId: 'fragment' }],
    },
    {
      name: 'a phrase in a comment',
      code: '// uploads the own picture\nconst a = 1;',
      errors: [{ messageId: 'phrase' }],
    },
    { name: 'a phrase in a text', code: "const a = 'Upload the own picture';", errors: [{ messageId: 'phrase' }] },
  ],
});

tester.run('file-names', fileNames, {
  valid: [
    { code: '', filename: 'apps/a/src/api-keys/api-keys.service.ts' },
    { code: '', filename: 'apps/a/src/migrations/1767225600000-AddApiKeys.ts' },
    { code: '', filename: 'apps/a/src/migrations/index.ts' },
  ],
  invalid: [
    { code: '', filename: 'apps/a/src/ApiKeys.ts', errors: [{ messageId: 'style' }] },
    { code: '', filename: 'apps/a/src/key_door.ts', errors: [{ messageId: 'style' }, { messageId: 'word' }] },
    { code: '', filename: 'apps/a/src/migrations/1767225600000-add-keys.ts', errors: [{ messageId: 'migration' }] },
    { code: '', filename: 'apps/a/src/upkeep/index.ts', errors: [{ messageId: 'word' }] },
  ],
});
