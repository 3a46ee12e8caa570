import { GROUP_SCHEMA, PATCH_SCHEMA, USER_SCHEMA } from './scim.config.js';

export const USER_EXAMPLE = {
  schemas: [USER_SCHEMA],
  userName: 'ann@example.com',
  externalId: '00u1ab2c3',
  name: { givenName: 'Ann', familyName: 'Lee' },
  emails: [{ value: 'ann@example.com', type: 'work', primary: true }],
  active: true,
};

export const USER_PATCH_EXAMPLE = {
  schemas: [PATCH_SCHEMA],
  Operations: [{ op: 'replace', path: 'active', value: false }],
};

export const GROUP_EXAMPLE = { schemas: [GROUP_SCHEMA], displayName: 'RMM Technicians', members: [] };

export const GROUP_PATCH_EXAMPLE = {
  schemas: [PATCH_SCHEMA],
  Operations: [{ op: 'add', path: 'members', value: [{ value: '7d9f2c1e-0000-4000-8000-000000000000' }] }],
};
