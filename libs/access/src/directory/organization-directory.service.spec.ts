import { Controller, type INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import {
  type ListSinceRequest,
  type OrganizationState,
  PROVISIONING_ORGANIZATIONS_GET,
  PROVISIONING_ORGANIZATIONS_LIST_SINCE,
} from '@rmm/contracts';
import { Outbox, RpcHandler } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { rowSecurityProblems } from '@rmm/persistence/testing';
import { eventually } from '@rmm/testing-services';
import { AdjustableClock, AccessTestFleet } from '../../test/access-test-fleet.js';
import { userCaller } from '../../test/callers.js';
import { OrganizationDirectory } from './organization-directory.service.js';

jest.setTimeout(60_000);

/** Organizations that provisioning owns. */
const owned = new Map<string, OrganizationState>();
let asked = 0;

@Controller()
class ProvisioningHandlers {
  @RpcHandler(PROVISIONING_ORGANIZATIONS_GET)
  get({ orgIds }: { orgIds: string[] }) {
    asked += 1;
    return { organizations: orgIds.map((id) => owned.get(id)).filter((found) => found !== undefined) };
  }

  @RpcHandler(PROVISIONING_ORGANIZATIONS_LIST_SINCE)
  listSince({ after, limit }: ListSinceRequest) {
    const from = Number(after ?? 0);
    const page = [...owned.values()].slice(from, from + limit);
    return { organizations: page, next: from + limit < owned.size ? String(from + limit) : null };
  }
}

let fleet: AccessTestFleet;
let provisioning: INestApplication;
let dispatcher: INestApplication;
let directory: OrganizationDirectory;
let worker: WorkerDatabase;
const clock = new AdjustableClock();

/** There before the dispatcher is: an empty directory fills itself. */
const first = own();

beforeAll(async () => {
  fleet = await AccessTestFleet.start();
  provisioning = await fleet.service('provisioning', { controllers: [ProvisioningHandlers] });
  dispatcher = await fleet.service('webhook-dispatcher', { clock });
  directory = dispatcher.get(OrganizationDirectory);
  worker = dispatcher.get(WorkerDatabase);
  await eventually(async () => expect(await stored(first.orgId)).toEqual(['Acme v1']));
});
afterAll(() => fleet.stop());

function own(changes: Partial<OrganizationState> = {}): OrganizationState {
  const organization: OrganizationState = {
    orgId: randomUUID(),
    partnerId: randomUUID(),
    name: 'Acme',
    slug: 'acme',
    status: 'active',
    deleted: false,
    version: 1,
    ...changes,
  };
  owned.set(organization.orgId, organization);
  return organization;
}

const publish = (organization: OrganizationState) =>
  provisioning.get(WorkerDatabase).transaction((tx) =>
    provisioning.get(Outbox).publish(tx, {
      stream: 'internal',
      type: 'organization.updated',
      aggregateId: organization.orgId,
      aggregateVersion: organization.version,
      partnerId: organization.partnerId,
      orgId: organization.orgId,
      data: organization,
    }),
  );
const stored = async (orgId: string) => {
  const rows = await worker.query<{ name: string; version: string }>(
    'select name, version from organization_directory where org_id = $1',
    [orgId],
  );
  return rows.map(({ name, version }) => `${name} v${version}`);
};
const partnerAdmin = (partnerId: string) => userCaller({ partnerId, scope: 'partner', orgAccess: 'all' });

describe('OrganizationDirectory', () => {
  it('finds an organization as soon as it exists and reads it from the owner once', async () => {
    const organization = own();
    const before = asked;
    expect(await directory.find(organization.orgId)).toEqual(organization);
    clock.advance(6_000);
    expect(await directory.find(organization.orgId.toUpperCase())).toEqual(organization);
    expect(asked).toBe(before + 1);
    expect(await stored(organization.orgId)).toEqual(['Acme v1']);
  });

  it('does not cache a missing organization', async () => {
    const orgId = randomUUID();
    expect(await directory.find(orgId)).toBeNull();
    own({ orgId });
    expect(await directory.find(orgId)).not.toBeNull();
  });

  it('returns null without a look-up for an id that is no UUID', async () => {
    const before = asked;
    expect(await directory.find("' or 1=1 --")).toBeNull();
    expect(asked).toBe(before);
  });

  it('stores events and ignores older versions', async () => {
    const organization = own({ version: 5, name: 'Five' });
    await publish(organization);
    await eventually(async () => expect(await stored(organization.orgId)).toEqual(['Five v5']));
    await publish({ ...organization, version: 4, name: 'Four' });
    await publish({ ...organization, version: 6, name: 'Six' });
    await eventually(async () => expect(await stored(organization.orgId)).toEqual(['Six v6']));
    await worker.transaction((tx) => directory.apply(tx, [{ ...organization, version: 3 }]));
    expect(await stored(organization.orgId)).toEqual(['Six v6']);
  });

  it('stores the newest of several versions in one batch', async () => {
    const organization = own();
    const versions = [2, 9, 4].map((version) => ({ ...organization, version, name: `N${version}` }));
    await worker.transaction((tx) => directory.apply(tx, versions));
    expect(await stored(organization.orgId)).toEqual(['N9 v9']);
  });

  it('reads an outdated organization from the owner before its event arrives', async () => {
    const organization = own();
    await directory.find(organization.orgId);
    own({ ...organization, status: 'suspended', version: 2 });
    expect((await directory.find(organization.orgId))?.status).toBe('active');
    directory.markOutdated([organization.orgId]);
    expect((await directory.find(organization.orgId))?.status).toBe('suspended');
    expect(await stored(organization.orgId)).toEqual(['Acme v2']);
  });

  it('rebuilds the table from the owner in pages', async () => {
    for (let i = 0; i < 1_100; i++) own({ name: `Org ${i}` });
    await worker.query('update organization_directory set version = 0');
    expect(await directory.rebuild()).toBe(owned.size);
    const [{ count }] = await worker.query<{ count: string }>('select count(*) from organization_directory');
    expect(Number(count)).toBe(owned.size);
  });
});

describe('assertOrganizationAccess', () => {
  it('returns an organization that the caller may access', async () => {
    const organization = own();
    const admin = partnerAdmin(organization.partnerId);
    await expect(directory.assertOrganizationAccess(admin, organization.orgId)).resolves.toEqual(organization);
  });

  it.each<[string, (organization: OrganizationState) => [partnerId: string, orgId: string]]>([
    ['of another partner', (organization) => [randomUUID(), organization.orgId]],
    ['that does not exist', (organization) => [organization.partnerId, randomUUID()]],
    ['that is malformed', (organization) => [organization.partnerId, 'acme']],
  ])('throws OrganizationAccessDenied for %s', async (_, name) => {
    const [partnerId, orgId] = name(own());
    await expect(directory.assertOrganizationAccess(partnerAdmin(partnerId), orgId)).rejects.toMatchObject({
      code: 'organization_access_denied',
      status: 403,
    });
  });

  it.each<Partial<OrganizationState>>([{ status: 'suspended' }, { deleted: true }])(
    'not alive (%j) is 403',
    async (dead) => {
      const organization = own(dead);
      await expect(
        directory.assertOrganizationAccess(partnerAdmin(organization.partnerId), organization.orgId),
      ).rejects.toMatchObject({
        code: 'organization_access_denied',
      });
    },
  );
});

describe('the directory table', () => {
  it('lets the service login read the rows of its own partner only and write none', async () => {
    const [mine, theirs] = [own(), own()];
    await worker.transaction((tx) => directory.apply(tx, [mine, theirs]));
    const tenants = dispatcher.get(TenantDatabase);
    const seen = await tenants.read(
      partnerAdmin(mine.partnerId),
      'select org_id from organization_directory where org_id = any ($1)',
      [[mine.orgId, theirs.orgId]],
    );
    expect(seen).toEqual([{ org_id: mine.orgId }]);
    const write = tenants.transaction(partnerAdmin(mine.partnerId), (tx) =>
      tx.query('delete from organization_directory'),
    );
    await expect(write).rejects.toThrow(/permission denied/);
  });

  it('passes the row-level security check', async () => {
    const admin = new pg.Client({ connectionString: fleet.database.adminUrl });
    await admin.connect();
    try {
      const query = async <Row>(sql: string, params?: readonly unknown[]) =>
        (await admin.query(sql, params as unknown[])).rows as Row[];
      const problems = await rowSecurityProblems({ query }, 'webhook_dispatcher');
      expect(problems.filter((problem) => problem.includes('organization_directory'))).toEqual([]);
    } finally {
      await admin.end();
    }
  });
});
