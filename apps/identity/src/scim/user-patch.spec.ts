import type { ScimUser } from './scim-user.entity.js';
import { PATCH_SCHEMA } from './scim.config.js';
import { patchUser } from './user-patch.js';

const USER = {
  ...{ id: 'u', userName: 'ann@example.com', externalId: 'x', email: 'mail@example.com', emailType: 'work' },
  ...{ displayName: 'Ann', givenName: 'Ann', familyName: 'Lee', active: true },
  ...{ createdAt: new Date(0), updatedAt: new Date(0) },
} as ScimUser;

const patch = (...operations: unknown[]) => patchUser(USER, { schemas: [PATCH_SCHEMA], Operations: operations });

describe('patchUser', () => {
  it.each([
    ['an attribute by a name of any case', { op: 'REPLACE', path: 'DISPLAYNAME', value: 'B' }, { displayName: 'B' }],
    [
      'a whole name',
      { op: 'replace', path: 'name', value: { familyName: 'B' } },
      { familyName: 'B', givenName: 'Ann' },
    ],
    [
      'all addresses',
      { op: 'replace', path: 'emails', value: [{ value: 'B@example.com', type: 'home' }] },
      { email: 'b@example.com', emailType: 'home' },
    ],
    [
      'the primary address',
      { op: 'replace', path: 'emails[primary eq true].value', value: 'b@example.com' },
      { email: 'b@example.com' },
    ],
    ['nothing by an unknown attribute', { op: 'replace', path: 'nickName', value: 'B' }, { displayName: 'Ann' }],
    ['an address that is removed to the user name', { op: 'remove', path: 'emails' }, { email: 'ann@example.com' }],
    ['a cleared text to none', { op: 'replace', path: 'externalId', value: '' }, { externalId: null }],
  ])('changes %s', (_, operation, expected) => {
    expect(patch(operation)).toMatchObject(expected);
  });

  it('lets the address follow the user name as long as both are the same', () => {
    const user = { ...USER, email: USER.userName };
    const body = { schemas: [PATCH_SCHEMA], Operations: [{ op: 'replace', path: 'userName', value: 'b@example.com' }] };
    expect(patchUser(user, body)).toMatchObject({ userName: 'b@example.com', email: 'b@example.com' });
    expect(patchUser(USER, body)).toMatchObject({ userName: 'b@example.com', email: 'mail@example.com' });
  });

  it.each([
    ['no operation', [], 'invalidSyntax'],
    ['an unknown op', [{ op: 'move', path: 'userName' }], 'invalidSyntax'],
    ['an operation that is no object', ['add'], 'invalidSyntax'],
    ['remove without a path', [{ op: 'remove' }], 'noTarget'],
    ['a value that is no object and no path', [{ op: 'replace', value: 'x' }], 'invalidSyntax'],
    ['a path that cannot be read', [{ op: 'replace', path: 'emails[[', value: 'x' }], 'invalidPath'],
    ['a path that is too long', [{ op: 'replace', path: 'a'.repeat(600), value: 'x' }], 'invalidPath'],
    [
      'a filter of a single-valued attribute',
      [{ op: 'replace', path: 'name[type eq "a"].givenName', value: 'x' }],
      'invalidPath',
    ],
    [
      'a filter by another attribute',
      [{ op: 'replace', path: 'emails[constructor eq "a"].value', value: 'x' }],
      'invalidFilter',
    ],
    ['a read-only attribute', [{ op: 'replace', path: 'id', value: 'x' }], 'mutability'],
    ['a removed user name', [{ op: 'remove', path: 'userName' }], 'invalidValue'],
    ['an active that is no boolean', [{ op: 'replace', path: 'active', value: 'off' }], 'invalidValue'],
    ['an address that is none', [{ op: 'replace', path: 'emails[type eq "work"].value', value: 'x' }], 'invalidValue'],
    ['too many operations', Array(1_001).fill({ op: 'remove', path: 'externalId' }), 'tooMany'],
  ])('throws for %s', (_, operations, scimType) => {
    expect(() => patch(...operations)).toThrow(expect.objectContaining({ extras: { scimType } }));
  });

  it.each([
    [{ op: 'replace', path: '__proto__.polluted', value: true }],
    [{ op: 'replace', path: 'name.__proto__', value: { polluted: true } }],
    [{ op: 'add', value: JSON.parse('{"__proto__":{"polluted":true},"name.__proto__.polluted":true}') as unknown }],
    [
      {
        op: 'add',
        path: 'name',
        value: JSON.parse('{"__proto__":{"polluted":true},"constructor.prototype.polluted":true}') as unknown,
      },
    ],
    [{ op: 'replace', path: 'constructor.prototype', value: { polluted: true } }],
  ])('changes no prototype by %j', (operation) => {
    try {
      patch(operation);
    } catch {
      // a path that cannot be read
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('requires the schema of a PATCH', () => {
    expect(() => patchUser(USER, { Operations: [{ op: 'remove', path: 'externalId' }] })).toThrow(/schemas/);
  });
});
