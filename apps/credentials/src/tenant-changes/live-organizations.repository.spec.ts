import { randomBytes, randomUUID } from 'node:crypto';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { ApiKeysRepository } from '../api-keys/api-keys.repository.js';

describe('inLiveOrganization', () => {
  let opened: CredentialsTestDatabase;
  let keys: ApiKeysRepository;
  let partnerId: string;

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    keys = new ApiKeysRepository(opened.tenants);
  });
  afterAll(() => opened.stop());
  beforeEach(() => (partnerId = randomUUID()));

  /** Creates a key, which `ApiKeysRepository.list` lists on the condition. */
  async function createKey(orgId: string): Promise<void> {
    const secret = { keyPrefix: 'svc_12345678', keyHash: randomBytes(32) };
    const key = { partnerId, orgId, name: 'k', ...secret, scopes: [], rateLimit: 1 };
    await opened.tenants.transaction(buildPartnerCaller(partnerId), (tx) => keys.create(tx, key));
  }

  async function listedOrganizations(): Promise<string[]> {
    const { rows } = await keys.list(buildPartnerCaller(partnerId), { page: 1, limit: 10 });
    return rows.map(({ orgId }) => orgId);
  }

  it.each(['active', 'trial'])('includes the rows of an organization that is %s', async (status) => {
    const orgId = await opened.createOrganization(partnerId, { status });
    await createKey(orgId);
    expect(await listedOrganizations()).toEqual([orgId]);
  });

  it.each(['suspended', 'churned'])('leaves out the rows of an organization that is %s', async (status) => {
    await createKey(await opened.createOrganization(partnerId, { status }));
    expect(await listedOrganizations()).toEqual([]);
  });

  it('leaves out the rows of a deleted organization', async () => {
    const orgId = await opened.createOrganization(partnerId);
    await createKey(orgId);
    await opened.worker.query('UPDATE organization_directory SET deleted = true WHERE org_id = :orgId', { orgId });
    expect(await listedOrganizations()).toEqual([]);
  });
});
