import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postmanCollection } from '../api/postman.mjs';

const document = {
  info: { title: 'API', description: 'All' },
  servers: [{ url: 'https://api.fleet.example' }],
  tags: [{ name: 'Things', description: 'Of all kinds' }, { name: 'Unused' }],
  paths: {
    '/api/v1/things/{id}': {
      patch: {
        tags: ['Things'],
        summary: 'Change a thing',
        security: [{ apiKey: [] }, { bearer: [] }],
        parameters: [
          { name: 'id', in: 'path', required: true, description: 'Id of the thing' },
          { name: 'dryRun', in: 'query', description: 'Changes nothing' },
        ],
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/ThingDto' } } } },
      },
      get: { tags: ['Things'], summary: 'Get a thing', security: [] },
    },
  },
  components: {
    schemas: {
      ThingDto: {
        type: 'object',
        required: ['name', 'size'],
        properties: { name: { type: 'string' }, size: { type: 'integer', minimum: 1 }, note: { type: 'string' } },
      },
    },
  },
};

test('a collection has each operation once, in the folder of its tag', () => {
  const { info, item, variable } = postmanCollection(document);
  assert.match(info.schema, /v2\.1\.0/);
  assert.deepEqual(
    variable.map(({ key }) => key),
    ['baseUrl', 'accessToken', 'apiKey'],
  );
  assert.deepEqual(
    item.map(({ name, item: requests }) => [name, requests.map((each) => each.name)]),
    [['Things', ['Get a thing', 'Change a thing']]],
  );
});

test('a request has its parameters, a body with the required fields, and its first credential', () => {
  const [read, change] = postmanCollection(document).item[0].item;
  assert.equal(change.request.url.raw, '{{baseUrl}}/api/v1/things/:id');
  assert.deepEqual(change.request.url.variable, [{ key: 'id', value: '', description: 'Id of the thing' }]);
  assert.equal(change.request.url.query[0].disabled, true);
  assert.deepEqual(JSON.parse(change.request.body.raw), { name: '', size: 1 });
  assert.equal(change.request.auth.type, 'apikey');
  assert.deepEqual(read.request.auth, { type: 'noauth' });
});
