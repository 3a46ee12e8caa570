// Checks the documents of the API as the compiled services have them, what is generated from them, and that they keep
// what docs/api promises. After a change of the API: `node tools/api/generate.mjs`.
import { Parser } from '@asyncapi/parser';
import { Spectral } from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { execa } from 'execa';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { breakingChanges } from '../api/breaking-changes.mjs';
import { generateTypes, TYPE_FILES } from '../api/sdk-types.mjs';
import { buildAsyncApi, buildOpenApi } from '../api/service-documents.mjs';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
const METHODS = ['get', 'put', 'post', 'delete', 'patch'];
const UPDATE = 'Run: node tools/api/generate.mjs';

/** Always 410: a token in a path would end up in logs. */
const ALWAYS_REFUSED = 'operation-success-response paths./api/v1/auth/invite/preview/{token}.get';

/** Their schemas are parts of the operations: the protocol or the partner interface defines them. */
const INLINE_SCHEMAS = /^\/api\/v1\/(partner-api|mcp)\//;

/** Returns the names of the schemas that operations use, at any depth. */
function schemasOf({ components }, part, found = new Set()) {
  for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (found.has(name)) continue;
    found.add(name);
    schemasOf({ components }, components.schemas[name], found);
  }
  return found;
}

/** Returns the fields without a description of a schema that is part of an operation, at any depth. */
const undescribedFields = ({ properties = {} } = {}, path = '') =>
  Object.entries(properties).flatMap(([name, field]) => [
    ...(field.description ? [] : [path + name]),
    ...undescribedFields(field, `${path}${name}.`),
  ]);

/** Problems as one line each, so that a failure shows them all. */
const lineOf = ({ code, message, path: where = [] }) => `${code} ${where.join('.')}: ${message}`;

describe('the OpenAPI document', () => {
  let document;
  let operations;

  before(async () => {
    document = await buildOpenApi();
    operations = Object.entries(document.paths).flatMap(([route, item]) =>
      METHODS.filter((method) => item[method]).map((method) => ({
        name: `${method} ${route}`,
        route,
        ...item[method],
        parameters: item[method].parameters ?? [],
      })),
    );
  });

  it('has no finding of the recommended rules of spectral', async () => {
    const spectral = new Spectral();
    spectral.setRuleset({ extends: [[rulesets.oas, 'recommended']] });
    const findings = await spectral.run(document);
    assert.deepEqual(
      findings.map(lineOf).filter((line) => !line.includes(ALWAYS_REFUSED)),
      [],
    );
  });

  it('has no finding of the recommended rules of Redocly', async (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'api-documents-'));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'openapi.json');
    fs.writeFileSync(file, JSON.stringify(document));
    const { stdout } = await execa(path.join(ROOT, 'node_modules/.bin/redocly'), ['lint', file, '--format=json'], {
      cwd: ROOT,
      env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      reject: false,
    });
    assert.deepEqual(
      JSON.parse(stdout).problems.map(({ ruleId, message }) => `${ruleId}: ${message}`),
      [],
    );
  });

  it('describes every operation: id, summary, description, tag with a description, credential', () => {
    assert.ok(operations.length > 200, `${operations.length} operations`);
    const described = new Set(document.tags.filter(({ description }) => description).map(({ name }) => name));
    const lacking = operations.filter(
      ({ operationId, summary, description, tags = [], security }) =>
        !operationId ||
        !summary ||
        !description ||
        tags.length === 0 ||
        !tags.every((tag) => described.has(tag)) ||
        !security,
    );
    assert.deepEqual(
      lacking.map(({ name }) => name),
      [],
    );
  });

  it('describes every parameter and every field', () => {
    const parameters = operations.flatMap(({ name, parameters: all }) =>
      all.filter(({ description }) => !description).map((parameter) => `${name} ${parameter.name}`),
    );
    const fields = [...schemasOf(document, operations)].flatMap((schema) =>
      Object.entries(document.components.schemas[schema].properties ?? {})
        .filter(([, { description }]) => !description)
        .map(([field]) => `${schema}.${field}`),
    );
    const own = operations.filter(({ route }) => INLINE_SCHEMAS.test(route));
    const inline = own.flatMap(({ name, requestBody, responses }) =>
      [requestBody, ...Object.values(responses)]
        .flatMap((part) => Object.values(part?.content ?? {}))
        .flatMap(({ schema }) => undescribedFields(schema).map((field) => `${name} ${field}`)),
    );
    assert.deepEqual([...parameters, ...fields, ...inline], []);
  });

  it('declares a response for each error code, and when to try again', () => {
    for (const operation of operations) {
      for (const [status, codes] of Object.entries(operation['x-error-codes'] ?? {})) {
        const response = operation.responses[status];
        assert.ok(response, `${operation.name} has no response ${status} (${codes})`);
      }
    }
    const { TooManyRequests, ServiceUnavailable } = document.components.responses;
    assert.ok(TooManyRequests.headers['Retry-After'] && ServiceUnavailable.headers['Retry-After']);
  });

  it('accepts calls with and without a session where both work', () => {
    for (const route of ['mfa/verify', 'logout', 'accept-invite']) {
      assert.deepEqual(document.paths[`/api/v1/auth/${route}`].post.security, [{}, { bearer: [] }], route);
    }
  });

  it('breaks nothing that was released, except what docs/api/breaking-changes.json lists', () => {
    const { accepted } = JSON.parse(read('docs/api/breaking-changes.json'));
    for (const { change, reason } of accepted) assert.ok(change && reason, 'each exception has a change and a reason');
    const released = JSON.parse(read('docs/api/openapi.json'));
    assert.deepEqual(
      breakingChanges(released, document),
      accepted.map(({ change }) => change).sort(),
      'Keep what was released, or list the change with its reason in docs/api/breaking-changes.json',
    );
  });
});

describe('the AsyncAPI document', () => {
  it('has no finding of its parser', async () => {
    const { document, diagnostics } = await new Parser().parse(JSON.stringify(await buildAsyncApi()));
    assert.deepEqual(diagnostics.map(lineOf), []);
    assert.equal(document.version(), '3.1.0');
    assert.equal(document.messages().all().length, document.channels().all()[0].messages().all().length);
  });

  it('keeps the fields of every event that was released', async () => {
    const [released, current] = [JSON.parse(read('docs/api/asyncapi.json')), await buildAsyncApi()];
    const dataOf = (document, type) => document.components.messages[type]?.payload.properties.data;
    for (const type of Object.keys(released.components.messages)) {
      const [before, now] = [dataOf(released, type), dataOf(current, type)];
      assert.ok(now, `${type} was removed`);
      const lost = Object.keys(before.properties).filter((name) => !now.properties[name]);
      assert.deepEqual(lost, [], `${type} lost fields`);
      const optional = (before.required ?? []).filter((name) => !now.required?.includes(name));
      assert.deepEqual(optional, [], `${type} has fields that may be absent now`);
    }
  });
});

describe('the types of packages/sdk', () => {
  it('are those of the documents', async () => {
    const types = await generateTypes(await buildOpenApi(), await buildAsyncApi());
    for (const [name, file] of Object.entries(TYPE_FILES)) assert.ok(types[name] === read(file), `${file}: ${UPDATE}`);
  });
});
