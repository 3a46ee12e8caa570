import type { OpenAPIObject } from '@nestjs/swagger';
import { mergeDocuments } from './merge-documents.js';

const head: OpenAPIObject = { openapi: '3.1.0', info: { title: 'All', version: '1' }, paths: {} };

function documentOf(path: string, operationId: string, schemas: Record<string, object>): OpenAPIObject {
  const schema = { $ref: `#/components/schemas/${Object.keys(schemas)[0]}` };
  const responses = { 200: { description: '', content: { 'application/json': { schema } } } };
  return {
    openapi: '3.1.0',
    info: { title: path, version: '1' },
    paths: { [path]: { get: { operationId, tags: ['T'], responses } } },
    components: { schemas, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  };
}

const refIn = (merged: OpenAPIObject, path: string) =>
  JSON.stringify(merged.paths[path].get).match(/schemas\/(\w+)/)?.[1];

describe('mergeDocuments', () => {
  const page = { type: 'object', properties: { total: { type: 'integer' } } };
  const other = { type: 'object', properties: { next: { type: 'string' } } };

  it('merges all paths and shares equal schemas', () => {
    const merged = mergeDocuments(head, [
      { name: 'identity', document: documentOf('/users', 'Users_list', { Page: page }) },
      { name: 'credentials', document: documentOf('/api-keys', 'ApiKeys_list', { Page: page }) },
    ]);
    expect(merged.info.title).toBe('All');
    expect(Object.keys(merged.paths)).toEqual(['/users', '/api-keys']);
    expect(merged.components?.schemas).toEqual({ Page: page });
    expect(merged.components?.securitySchemes).toEqual({ bearer: { type: 'http', scheme: 'bearer' } });
    expect(merged.tags).toEqual([{ name: 'T' }]);
  });

  it('renames a different schema of the same name and its references', () => {
    const wrapper = { type: 'array', items: { $ref: '#/components/schemas/Page' } };
    const merged = mergeDocuments(head, [
      { name: 'identity', document: documentOf('/users', 'Users_list', { Page: page }) },
      {
        name: 'webhook-dispatcher',
        document: documentOf('/webhooks', 'Webhooks_list', { Page: other, List: wrapper }),
      },
    ]);
    expect(merged.components?.schemas).toEqual({
      Page: page,
      WebhookDispatcherPage: other,
      List: { type: 'array', items: { $ref: '#/components/schemas/WebhookDispatcherPage' } },
    });
    expect(refIn(merged, '/users')).toBe('Page');
    expect(refIn(merged, '/webhooks')).toBe('WebhookDispatcherPage');
  });

  it('keeps operation ids unique, and both methods of a shared path', () => {
    const post = documentOf('/orgs', 'Orgs_list', { Page: page });
    post.paths['/orgs'] = { post: post.paths['/orgs'].get };
    const merged = mergeDocuments(head, [
      { name: 'identity', document: documentOf('/orgs', 'Orgs_list', { Page: page }) },
      { name: 'provisioning', document: post },
    ]);
    expect(merged.paths['/orgs'].get?.operationId).toBe('Orgs_list');
    expect(merged.paths['/orgs'].post?.operationId).toBe('ProvisioningOrgs_list');
  });

  it('keeps descriptions of tags, and components that services share', () => {
    const one = documentOf('/users', 'Users_list', { Page: page });
    const other = documentOf('/webhooks', 'Webhooks_list', { Page: page });
    one.tags = [{ name: 'T', description: 'Things' }];
    one.components = { ...one.components, responses: { Conflict: { description: 'Conflict' } } };
    other.components = { ...other.components, responses: { NotFound: { description: 'Not Found' } } };
    const merged = mergeDocuments(head, [
      { name: 'identity', document: one },
      { name: 'webhook-dispatcher', document: other },
    ]);
    expect(merged.tags).toEqual([{ name: 'T', description: 'Things' }]);
    expect(Object.keys(merged.components?.responses ?? {})).toEqual(['Conflict', 'NotFound']);
  });

  it('does not change its sources', () => {
    const document = documentOf('/webhooks', 'List', { Page: other });
    const before = JSON.stringify(document);
    mergeDocuments(head, [
      { name: 'identity', document: documentOf('/users', 'List', { Page: page }) },
      { name: 'webhook-dispatcher', document },
    ]);
    expect(JSON.stringify(document)).toBe(before);
  });
});
