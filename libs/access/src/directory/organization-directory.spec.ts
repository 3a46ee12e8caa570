import { Controller, type INestApplication } from '@nestjs/common';
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
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { userCaller } from '../../test/callers.js';
import { PushedClock, SpecFleet } from '../../test/fleet.js';
import { OrganizationDirectory } from './organization-directory.js';

jest.setTimeout(60_000);

/** What provisioning owns. */
const owned = new Map<string, OrganizationState>();
let asked = 0;

@Controller()
class ProvisioningHandlers {
  @RpcHandler(PROVISIONING_ORGANIZATIONS_GET)
  get({ orgIds }: { orgIds: string[] }) {
    asked += 1;
    return { organizations: orgIds.map((id) => owned.get(id)).filter((fact) => fact !== undefined) };
  }

  @RpcHandler(PROVISIONING_ORGANIZATIONS_LIST_SINCE)
  listSince({ after, limit }: ListSinceRequest) {
    const from = Number(after ?? 0);
    const page = [...owned.values()].slice(from, from + limit);
    return { organizations: page, next: from + limit < owned.size ? String(from + limit) : null };
  }
}

let fleet: SpecFleet;
let provisioning: INestApplication;
let dispatcher: INestApplication;
let directory: OrganizationDirectory;
let worker: WorkerDatabase;
const clock = new PushedClock();

/** There before the dispatcher is: an empty directory fills itself. */
const first = own();

beforeAll(async () => {
  fleet = await SpecFleet.start();
  provisioning = await fleet.service('provisioning', { controllers: [ProvisioningHandlers] });
  dispatcher = await fleet.service('webhook-dispatcher', { clock });
  directory = dispatcher.get(OrganizationDirectory);
  worker = dispatcher.get(WorkerDatabase);
  await eventually(async () => expect(await stored(first.orgId)).toEqual(['Acme v1']));
});
afterAll(() => fleet.stop());

function own(changes: Partial<OrganizationState> = {}): OrganizationState {
  const fact: OrganizationState = {
    orgId: randomUUID(),
    partnerId: randomUUID(),
    name: 'Acme',
    slug: 'acme',
    status: 'active',
    deleted: false,
    version: 1,
    ...changes,
  };
  owned.set(fact.orgId, fact);
  return fact;
}

const publish = (fact: OrganizationState) =>
  provisioning.get(WorkerDatabase).transaction((tx) =>
    provisioning.get(Outbox).publish(tx, {
      stream: 'internal',
      type: 'organization.updated',
      aggregateId: fact.orgId,
      aggregateVersion: fact.version,
      partnerId: fact.partnerId,
      orgId: fact.orgId,
      data: fact,
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

describe('the organization directory', () => {
  it('knows an organization as soon as it exists, and asks its owner once', async () => {
    const fact = own();
    const before = asked;
    expect(await directory.find(fact.orgId)).toEqual(fact);
    clock.advance(6_000);
    expect(await directory.find(fact.orgId.toUpperCase())).toEqual(fact);
    expect(asked).toBe(before + 1);
    expect(await stored(fact.orgId)).toEqual(['Acme v1']);
  });

  it('does not remember that there was none', async () => {
    const orgId = randomUUID();
    expect(await directory.find(orgId)).toBeNull();
    own({ orgId });
    expect(await directory.find(orgId)).not.toBeNull();
  });

  it('knows nothing under what is no uuid, and asks nobody', async () => {
    const before = asked;
    expect(await directory.find("' or 1=1 --")).toBeNull();
    expect(asked).toBe(before);
  });

  it('follows the facts and ignores older versions', async () => {
    const fact = own({ version: 5, name: 'Five' });
    await publish(fact);
    await eventually(async () => expect(await stored(fact.orgId)).toEqual(['Five v5']));
    await publish({ ...fact, version: 4, name: 'Four' });
    await publish({ ...fact, version: 6, name: 'Six' });
    await eventually(async () => expect(await stored(fact.orgId)).toEqual(['Six v6']));
    await worker.transaction((tx) => directory.apply(tx, [{ ...fact, version: 3 }]));
    expect(await stored(fact.orgId)).toEqual(['Six v6']);
  });

  it('takes the newest of several versions in one set', async () => {
    const fact = own();
    const versions = [2, 9, 4].map((version) => ({ ...fact, version, name: `N${version}` }));
    await worker.transaction((tx) => directory.apply(tx, versions));
    expect(await stored(fact.orgId)).toEqual(['N9 v9']);
  });

  it('asks the owner about an organization that is said to have changed, before the fact is here', async () => {
    const fact = own();
    await directory.find(fact.orgId);
    own({ ...fact, status: 'suspended', version: 2 });
    expect((await directory.find(fact.orgId))?.status).toBe('active');
    directory.suspect([fact.orgId]);
    expect((await directory.find(fact.orgId))?.status).toBe('suspended');
    expect(await stored(fact.orgId)).toEqual(['Acme v2']);
  });

  it('can be rebuilt from its owner, in pages', async () => {
    for (let i = 0; i < 1_100; i++) own({ name: `Org ${i}` });
    await worker.query('update organization_directory set version = 0');
    expect(await directory.rebuild()).toBe(owned.size);
    const [{ count }] = await worker.query<{ count: string }>('select count(*) from organization_directory');
    expect(Number(count)).toBe(owned.size);
  });
});

describe('an organization a caller names', () => {
  it('is given to those who reach it', async () => {
    const fact = own();
    const admin = partnerAdmin(fact.partnerId);
    await expect(directory.assertOrganizationAccess(admin, fact.orgId)).resolves.toEqual(fact);
  });

  it.each<[string, (fact: OrganizationState) => [partnerId: string, orgId: string]]>([
    ['of another partner', (fact) => [randomUUID(), fact.orgId]],
    ['that does not exist', (fact) => [fact.partnerId, randomUUID()]],
    ['that is malformed', (fact) => [fact.partnerId, 'acme']],
  ])('%s is 403', async (_, name) => {
    const [partnerId, orgId] = name(own());
    await expect(directory.assertOrganizationAccess(partnerAdmin(partnerId), orgId)).rejects.toMatchObject({
      code: 'organization_access_denied',
      status: 403,
    });
  });

  it.each<Partial<OrganizationState>>([{ status: 'suspended' }, { deleted: true }])(
    'not alive (%j) is 403',
    async (dead) => {
      const fact = own(dead);
      await expect(directory.assertOrganizationAccess(partnerAdmin(fact.partnerId), fact.orgId)).rejects.toMatchObject({
        code: 'organization_access_denied',
      });
    },
  );
});

describe('the directory table', () => {
  it('is a tenant table: the service login sees its own partner only, and writes nothing', async () => {
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

  it('passes the walk through the catalog', async () => {
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
