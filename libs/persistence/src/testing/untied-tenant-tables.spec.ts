import { PersistenceTestDatabase, SCHEMA } from '../../test/persistence-test-database.js';
import { untiedTenantTables } from './untied-tenant-tables.js';

describe('untiedTenantTables', () => {
  let fleet: PersistenceTestDatabase;

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start();
    await fleet.admin(`
      set search_path = ${SCHEMA};
      create table organization_directory (org_id uuid primary key, partner_id uuid, unique (org_id, partner_id));
      create table tied (partner_id uuid, org_id uuid,
        foreign key (partner_id, org_id) references organization_directory (partner_id, org_id));
      create table half_tied (partner_id uuid, org_id uuid references organization_directory (org_id));
      create table loose (partner_id uuid, org_id uuid);
      create table of_partner (partner_id uuid)`);
  });
  afterAll(() => fleet.stop());

  it('lists the tables without a foreign key on both columns, but for those that are exempt', async () => {
    const untied = await untiedTenantTables(fleet.worker, SCHEMA);
    expect(untied).toEqual(expect.arrayContaining(['half_tied', 'loose']));
    for (const name of ['tied', 'of_partner', 'organization_directory']) expect(untied).not.toContain(name);
    expect(await untiedTenantTables(fleet.worker, SCHEMA, ['loose'])).not.toContain('loose');
  });
});
