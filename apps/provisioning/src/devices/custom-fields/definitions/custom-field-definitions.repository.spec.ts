import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../../../test/provisioning-test-database.js';
import {
  CustomFieldDefinitionsRepository,
  type NewCustomFieldDefinition,
} from './custom-field-definitions.repository.js';

describe('CustomFieldDefinitionsRepository', () => {
  let database: ProvisioningTestDatabase;
  let definitions: CustomFieldDefinitionsRepository;
  let partnerId: string;
  let orgIds: string[];

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    definitions = new CustomFieldDefinitionsRepository(database.tenants, TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgIds = [await database.createOrganization(partnerId), await database.createOrganization(partnerId)];
  });

  const create = (more: Partial<NewCustomFieldDefinition>) =>
    database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      definitions.create(tx, {
        partnerId,
        orgId: null,
        fieldKey: 'rack',
        name: 'Rack',
        type: 'text',
        options: [],
        required: false,
        defaultValue: null,
        deviceTypes: [],
        ...more,
      }),
    );
  const rulesOf = (orgId: string) =>
    database.tenants.transaction(organizationCaller(partnerId, orgId), (tx) =>
      definitions.listRules(tx, { partnerId, orgId }, ['rack', 'other']),
    );

  it('shows definitions of the partner to its organizations, and those of an organization to no other one', async () => {
    const ofPartner = await create({});
    const own = await create({ orgId: orgIds[0], fieldKey: 'owner' });
    const listed = async (orgId: string) => {
      const page = { page: 1, limit: 10 };
      const { rows } = await definitions.list(organizationCaller(partnerId, orgId), {}, page);
      return rows.map(({ id }) => id).sort();
    };
    expect(await listed(orgIds[0])).toEqual([ofPartner.id, own.id].sort());
    expect(await listed(orgIds[1])).toEqual([ofPartner.id]);
    await expect(definitions.get(partnerCaller(randomUUID()), own.id)).rejects.toThrow(NotFoundError);
    await expect(definitions.get(organizationCaller(partnerId, orgIds[1]), own.id)).rejects.toThrow(NotFoundError);
  });

  it('lets an organization change no definition of the partner', async () => {
    const { id } = await create({});
    const caller = organizationCaller(partnerId, orgIds[0]);
    const change = database.tenants.transaction(caller, (tx) => definitions.change(tx, id, { name: 'Other' }));
    await expect(change).rejects.toThrow(NotFoundError);
  });

  it('returns the rule of the organization in place of that of the partner', async () => {
    await create({ type: 'number', defaultValue: 7 });
    await create({ orgId: orgIds[0], type: 'dropdown', options: ['A'], deviceTypes: ['linux'] });
    expect(await rulesOf(orgIds[0])).toEqual([
      {
        fieldKey: 'rack',
        type: 'dropdown',
        options: ['A'],
        required: false,
        defaultValue: null,
        deviceTypes: ['linux'],
      },
    ]);
    expect(await rulesOf(orgIds[1])).toMatchObject([{ type: 'number', defaultValue: 7 }]);
  });
});
