import type { IdentityConfig } from '../config.js';
import { ScimDiscoveryService } from './scim-discovery.service.js';
import { GROUP_SCHEMA, USER_SCHEMA } from './scim.config.js';

describe('ScimDiscoveryService', () => {
  const discovery = new ScimDiscoveryService({ publicApiUrl: 'https://rmm.test/' } as IdentityConfig);

  it('says that bulk, sorting, ETags and passwords are not supported', () => {
    const no = { supported: false };
    expect(discovery.getConfig()).toMatchObject({ bulk: no, sort: no, etag: no, changePassword: no });
  });

  it('names each resource type with its schema and address', () => {
    expect(discovery.getResourceType('Group')).toMatchObject({
      endpoint: '/Groups',
      schema: GROUP_SCHEMA,
      meta: { location: 'https://rmm.test/api/v1/scim/v2/ResourceTypes/Group' },
    });
    expect(() => discovery.getResourceType('group')).toThrow(expect.objectContaining({ code: 'not_found' }));
  });

  it('describes every attribute of a schema as RFC 7643 demands', () => {
    const { attributes } = discovery.getSchema(USER_SCHEMA) as { attributes: Record<string, unknown>[] };
    const fields = ['name', 'type', 'multiValued', 'required', 'caseExact', 'mutability', 'returned', 'uniqueness'];
    for (const attribute of attributes) expect(Object.keys(attribute)).toEqual(expect.arrayContaining(fields));
    expect(attributes.filter(({ required }) => required).map(({ name }) => name)).toEqual(['userName']);
    expect(() => discovery.getSchema('urn:unknown')).toThrow(expect.objectContaining({ code: 'not_found' }));
  });
});
