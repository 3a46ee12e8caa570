// Checks that docs/api/CHANGELOG.md was written with the documents of docs/api. After a change: `node tools/api/generate.mjs --release`.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { changesBetween, digestOf, recordedDigest, surfaceOf, withChanges } from '../api/changelog.mjs';

const read = (file) => fs.readFileSync(path.resolve(import.meta.dirname, '../../docs/api', file), 'utf8');

const openApi = () => ({
  paths: {
    '/things': {
      get: { parameters: [{ name: 'kind', in: 'query' }], 'x-error-codes': { 400: ['validation_failed'] } },
    },
  },
  components: {
    schemas: { Thing: { description: 'A thing', properties: { id: {}, kind: { enum: ['large', 'small'] } } } },
  },
});
const asyncApi = () => ({
  components: {
    messages: { 'thing.created': { payload: { properties: { data: { properties: { thingId: {} } } } } } },
  },
});

/** Returns the lines that an edit of the documents is listed with. */
function changesOf(edit) {
  const [before, now, eventsNow] = [openApi(), openApi(), asyncApi()];
  edit(now, eventsNow.components.messages);
  return changesBetween(surfaceOf(before, asyncApi()), surfaceOf(now, eventsNow));
}

describe('docs/api/CHANGELOG.md', () => {
  it('was written with the released documents', () => {
    const surface = surfaceOf(JSON.parse(read('openapi.json')), JSON.parse(read('asyncapi.json')));
    const recorded = recordedDigest(read('CHANGELOG.md'));
    assert.equal(recorded, digestOf(surface), 'The documents changed. Run: node tools/api/generate.mjs --release');
  });

  it('lists every operation that is deprecated', () => {
    const changelog = read('CHANGELOG.md');
    const deprecated = surfaceOf(JSON.parse(read('openapi.json')), JSON.parse(read('asyncapi.json'))).filter(
      ({ kind }) => kind === 'deprecation',
    );
    assert.ok(deprecated.length > 0);
    for (const { name } of deprecated) assert.ok(changelog.includes(`**Deprecated** ${name}`), name);
  });
});

describe('the changes between two surfaces', () => {
  const cases = {
    'a new operation, without its parameters and codes': [
      ({ paths }) => (paths['/other'] = { post: { ...paths['/things'].get } }),
      ['**New** operation `POST /other`'],
    ],
    'a deprecated operation': [
      ({ paths }) => (paths['/things'].get.deprecated = true),
      ['**Deprecated** `GET /things`'],
    ],
    'a removed operation': [({ paths }) => delete paths['/things'], ['**Removed** operation `GET /things`']],
    'a new parameter and a new error code': [
      ({ paths }) => {
        paths['/things'].get.parameters.push({ name: 'page', in: 'query' });
        paths['/things'].get['x-error-codes'][400].push('bad_request');
      },
      ['**New** error code `bad_request` (400) of `GET /things`', '**New** parameter `page` (query) of `GET /things`'],
    ],
    'a new schema, without its fields': [
      ({ components }) => (components.schemas.Other = { ...components.schemas.Thing }),
      ['**New** schema `Other`'],
    ],
    'a new field and value, and a removed field': [
      ({ components: { schemas } }) => {
        schemas.Thing.properties.size = { enum: ['s'] };
        schemas.Thing.properties.kind.enum.push('medium');
        delete schemas.Thing.properties.id;
      },
      ['**New** field `Thing.size`', '**New** value `medium` of `Thing.kind`', '**Removed** field `Thing.id`'],
    ],
    'a new event and a new field of one': [
      (_, messages) => {
        messages['thing.gone'] = messages['thing.created'];
        messages['thing.created'] = { payload: { properties: { data: { properties: { thingId: {}, kind: {} } } } } };
      },
      ['**New** event `thing.gone`', '**New** event field `kind` of `thing.created`'],
    ],
    'no change of a text': [({ components }) => (components.schemas.Thing.description = 'Another text'), []],
  };
  for (const [name, [edit, expected]] of Object.entries(cases)) {
    it(`are ${name}`, () => assert.deepEqual(changesOf(edit), expected));
  }
});

describe('withChanges', () => {
  const first = '# API changelog\n\n<!-- documents: 0 -->\n';

  it('adds lines to the section of the day, each once, above older sections', () => {
    const one = withChanges(first, { day: '2026-01-01', changes: ['a'], digest: 'aa' });
    assert.equal(one, '# API changelog\n\n<!-- documents: aa -->\n\n## 2026-01-01\n\n- a\n');
    const two = withChanges(one, { day: '2026-01-01', changes: ['a', 'b'], digest: 'bb' });
    assert.equal(two, '# API changelog\n\n<!-- documents: bb -->\n\n## 2026-01-01\n\n- b\n- a\n');
    const three = withChanges(two, { day: '2026-01-02', changes: ['c'], digest: 'cc' });
    assert.match(three, /documents: cc -->\n\n## 2026-01-02\n\n- c\n\n## 2026-01-01\n\n- b\n- a\n$/);
    assert.equal(recordedDigest(three), 'cc');
  });

  it('changes nothing but the digest when nothing changed', () => {
    assert.equal(withChanges(first, { day: '2026-01-01', changes: [], digest: '1' }), first.replace(': 0', ': 1'));
  });
});
