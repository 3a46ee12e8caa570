import { GROUP_SCHEMA, USER_SCHEMA } from './scim.config.js';

interface SchemaAttribute {
  name: string;
  type: string;
  multiValued: boolean;
  description: string;
  required: boolean;
  caseExact: boolean;
  mutability: string;
  returned: string;
  uniqueness: string;
  subAttributes?: SchemaAttribute[];
}

/** An optional text that may be changed, unless `other` says otherwise. */
const attribute = (name: string, description: string, other: Partial<SchemaAttribute> = {}): SchemaAttribute => ({
  ...{ name, type: 'string', multiValued: false, description, required: false, caseExact: false },
  ...{ mutability: 'readWrite', returned: 'default', uniqueness: 'none', ...other },
});

const READ_ONLY = { mutability: 'readOnly' } as const;
const reference = (what: string) => [
  attribute('value', `Id of the ${what}`, { caseExact: true, mutability: 'immutable' }),
  attribute('display', `Name of the ${what}`, READ_ONLY),
  attribute('$ref', `Address of the ${what}`, { ...READ_ONLY, type: 'reference', caseExact: true }),
];

/** The attributes that are stored; others are accepted and ignored. */
export const SCIM_SCHEMAS = [
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id: USER_SCHEMA,
    name: 'User',
    description: 'A user of the organization',
    attributes: [
      attribute('userName', 'Name of the user at the identity provider', { required: true, uniqueness: 'server' }),
      attribute('externalId', 'Id of the user at the identity provider', { caseExact: true, uniqueness: 'server' }),
      attribute('displayName', 'Name for display'),
      attribute('name', 'Parts of the name', {
        type: 'complex',
        subAttributes: [
          attribute('givenName', 'Given name'),
          attribute('familyName', 'Family name'),
          attribute('formatted', 'The whole name'),
        ],
      }),
      attribute('active', 'False ends the access of the user at once', { type: 'boolean' }),
      attribute('emails', 'Addresses; one is stored: the primary one, else that for work', {
        type: 'complex',
        multiValued: true,
        subAttributes: [
          attribute('value', 'The address, in a domain that the organization has proven'),
          attribute('type', 'Kind of the address, such as work'),
          attribute('primary', 'True for the address of the account', { type: 'boolean' }),
        ],
      }),
      attribute('groups', 'Groups of the user', {
        ...READ_ONLY,
        type: 'complex',
        multiValued: true,
        subAttributes: reference('group'),
      }),
    ],
  },
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id: GROUP_SCHEMA,
    name: 'Group',
    description: 'A group, which may give its users a role',
    attributes: [
      attribute('displayName', 'Name of the group', { required: true, uniqueness: 'server' }),
      attribute('externalId', 'Id of the group at the identity provider', { caseExact: true, uniqueness: 'server' }),
      attribute('members', 'Users of the group', {
        type: 'complex',
        multiValued: true,
        subAttributes: reference('user'),
      }),
    ],
  },
];
