import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { breakingChanges } from '../api/breaking-changes.mjs';

const thing = () => ({
  type: 'object',
  required: ['id', 'name'],
  properties: {
    id: { type: 'string', format: 'uuid' },
    name: { type: 'string', maxLength: 100 },
    kind: { type: 'string', enum: ['large', 'small'] },
    parent: { $ref: '#/components/schemas/Thing' },
  },
});

const createThing = () => ({
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', maxLength: 100 }, kind: { type: 'string', enum: ['large', 'small'] } },
});

const json = (name) => ({ 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } });

function api() {
  return {
    paths: {
      '/things': {
        get: {
          operationId: 'Things_list',
          parameters: [{ name: 'kind', in: 'query', schema: { type: 'string' } }],
          responses: { 200: { content: json('Thing') } },
        },
        post: {
          operationId: 'Things_create',
          requestBody: { required: true, content: json('CreateThing') },
          responses: { 201: { content: json('Thing') } },
        },
      },
    },
    components: { schemas: { Thing: thing(), CreateThing: createThing() } },
  };
}

/** Returns the changes that an edit of the document is reported as. */
function changesOf(edit) {
  const current = api();
  edit(current, current.components.schemas);
  return breakingChanges(api(), current);
}

describe('breakingChanges', () => {
  it('reports nothing for the same document', () => {
    assert.deepEqual(
      changesOf(() => {}),
      [],
    );
  });

  it('reports nothing for what is added', () => {
    const changes = changesOf(({ paths }, { Thing, CreateThing }) => {
      paths['/other'] = { get: { responses: {} } };
      paths['/things'].get.parameters.push({ name: 'page', in: 'query', schema: { type: 'integer' } });
      Thing.properties.size = { type: 'integer' };
      Thing.properties.kind.enum.push('medium');
      CreateThing.properties.size = { type: 'integer' };
      CreateThing.properties.name.maxLength = 200;
    });
    assert.deepEqual(changes, []);
  });

  const cases = {
    'a removed operation': [({ paths }) => delete paths['/things'].get, 'GET /things: was removed'],
    'a removed parameter': [
      ({ paths }) => (paths['/things'].get.parameters = []),
      'GET /things: query parameter kind was removed',
    ],
    'a parameter that is required now': [
      ({ paths }) => (paths['/things'].get.parameters[0].required = true),
      'GET /things: query parameter kind is required now',
    ],
    'a new required parameter': [
      ({ paths }) => paths['/things'].get.parameters.push({ name: 'orgId', in: 'query', required: true }),
      'GET /things: query parameter orgId is required now',
    ],
    'another operation id': [
      ({ paths }) => (paths['/things'].get.operationId = 'listThings'),
      'GET /things: operationId is listThings now',
    ],
    'another status of success': [
      ({ paths }) => (paths['/things'].post.responses = { 200: {} }),
      'POST /things: does not respond 201 any more',
    ],
    'a removed field of a response': [
      (_, { Thing }) => delete Thing.properties.name,
      'Thing (output): field name was removed',
    ],
    'a field of a response that may be absent': [
      (_, { Thing }) => (Thing.required = ['id']),
      'Thing (output): field name may be absent now',
    ],
    'a field of a response that may be null': [
      (_, { Thing }) => (Thing.properties.name.type = ['string', 'null']),
      'Thing (output).name: type string is string or null now',
    ],
    'another type': [
      (_, { Thing }) => (Thing.properties.name.type = 'integer'),
      'Thing (output).name: type string is integer now',
    ],
    'a removed enum value': [
      (_, { Thing }) => (Thing.properties.kind.enum = ['large']),
      'Thing (output).kind: value "small" was removed',
    ],
    'a new required field of a request': [
      (_, { CreateThing }) => CreateThing.required.push('kind'),
      'CreateThing (input): field kind is required now',
    ],
    'a removed field of a request': [
      (_, { CreateThing }) => delete CreateThing.properties.kind,
      'CreateThing (input): field kind was removed',
    ],
    'a lower limit': [
      (_, { CreateThing }) => (CreateThing.properties.name.maxLength = 50),
      'CreateThing (input).name: maxLength is 50 now',
    ],
  };
  for (const [name, [edit, expected]] of Object.entries(cases)) {
    it(`reports ${name}`, () => assert.deepEqual(changesOf(edit), [expected]));
  }

  it('compares fields that an allOf composes', () => {
    const changes = changesOf((_, schemas) => {
      schemas.Base = { type: 'object', required: ['id'], properties: { id: schemas.Thing.properties.id } };
      delete schemas.Thing.properties.id;
      schemas.Thing.allOf = [{ $ref: '#/components/schemas/Base' }];
    });
    assert.deepEqual(changes, []);
  });
});
