import { randomUUID } from 'node:crypto';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner } from '../../test/users.js';
import { PartnerDirectoryRepository } from './partner-directory.repository.js';

describe('PartnerDirectoryRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let directory: PartnerDirectoryRepository;
  const ids: string[] = [];

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    directory = identity.app.get(PartnerDirectoryRepository, { strict: false });
    for (const name of ['Acme', 'Beta', 'Gamma']) ids.push((await registerPartner(identity, name)).partnerId);
  }, 120_000);
  afterAll(() => testApp.stop());

  it('returns the state of partners with the settings that other services need, and omits unknown ones', async () => {
    const settings = { enrollment: { maxTtlMinutes: 60 }, theme: 'dark', security: { requireMfa: true } };
    await testApp.query('UPDATE partner SET settings = $2, max_devices = 5 WHERE id = $1', [
      ids[0],
      JSON.stringify(settings),
    ]);
    expect(await directory.get([ids[0], randomUUID()])).toEqual([
      expect.objectContaining({
        partnerId: ids[0],
        name: 'Acme',
        status: 'active',
        maxOrganizations: null,
        maxDevices: 5,
        settings: { enrollment: { maxTtlMinutes: 60 } },
        version: expect.any(Number),
      }),
    ]);
  });

  it('lists all partners page by page, ordered by id', async () => {
    const listed: string[] = [];
    let after: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof directory.listSince>> = await directory.listSince({ after, limit: 2 });
      listed.push(...page.partners.map(({ partnerId }) => partnerId));
      after = page.next;
    } while (after !== null);
    const rows = await testApp.query<{ id: string }>('SELECT id FROM partner ORDER BY id');
    expect(listed).toEqual(rows.map(({ id }) => id));
    expect(listed).toEqual(expect.arrayContaining(ids));
  });
});
