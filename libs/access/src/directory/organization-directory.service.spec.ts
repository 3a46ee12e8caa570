import { Controller, type INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import {
  type ListSinceRequest,
  type OrganizationState,
  PROVISIONING_ORGANIZATIONS_GET,
  PROVISIONING_ORGANIZATIONS_LIST_SINCE,
} from '@rmm/contracts';
import { Broadcasts, Outbox, RpcHandler } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { rowSecurityProblems } from '@rmm/persistence/testing';
import { MetricsRegistry, UnavailableError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { AdjustableClock, AccessTestCluster } from '../../test/access-test-cluster.js';
import { userCaller } from '../../test/callers.js';
import { InvalidationFeeds } from '../invalidation/invalidation-feeds.service.js';
import { OrganizationDirectoryRepository } from './organization-directory.repository.js';
import { OrganizationDirectory } from './organization-directory.service.js';

/** Organizations that provisioning owns. */
const owned = new Map<string, OrganizationState>();
let asked = 0;
let listed = 0;
let listFails = false;
let getFails = false;

@Controller()
class ProvisioningHandlers {
  @RpcHandler(PROVISIONING_ORGANIZATIONS_GET)
  get({ orgIds }: { orgIds: string[] }) {
    asked += 1;
    if (getFails) throw new UnavailableError();
    return { organizations: orgIds.map((id) => owned.get(id)).filter((found) => found !== undefined) };
  }

  @RpcHandler(PROVISIONING_ORGANIZATIONS_LIST_SINCE)
  listSince({ after, limit }: ListSinceRequest) {
    listed += 1;
    if (listFails) throw new UnavailableError();
    const sorted = [...owned.values()].sort((a, b) => (a.orgId < b.orgId ? -1 : 1));
    const rest = sorted.filter(({ orgId }) => after === null || orgId > after);
    const page = rest.slice(0, limit);
    return { organizations: page, next: rest.length > limit ? (page.at(-1)?.orgId ?? null) : null };
  }
}

let cluster: AccessTestCluster;
let provisioning: INestApplication;
let dispatcher: INestApplication;
let directory: OrganizationDirectory;
let worker: WorkerDatabase;
const clock = new AdjustableClock();

/** There before the dispatcher is: an empty directory fills itself. */
const first = own();

beforeAll(async () => {
  cluster = await AccessTestCluster.start();
  provisioning = await cluster.service('provisioning', { controllers: [ProvisioningHandlers] });
  dispatcher = await cluster.service('webhook-dispatcher', { clock });
  directory = dispatcher.get(OrganizationDirectory);
  worker = dispatcher.get(WorkerDatabase);
  await eventually(async () => expect(await stored(first.orgId)).toEqual(['Acme v1']));
  await receiveHeartbeat();
  // Twice: the first call may join a reconciliation that began before the gap, after which the table is not trusted.
  await directory.reconcile();
  await directory.reconcile();
});
/** The first heartbeat of a publisher that started earlier is a gap, which distrusts what the directory remembers. */
const receiveHeartbeat = () =>
  new Promise<void>((resolve) => {
    dispatcher.get(Broadcasts).subscribe('organization.heartbeat', () => resolve());
  });
afterAll(() => cluster.stop());

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

const statusOf = async (orgId: string) => {
  const sql = 'select status from organization_directory where org_id = $1';
  return (await worker.query<{ status: string }>(sql, [orgId]))[0]?.status;
};
/** @param named  the organization that the envelope names */
const publish = (organization: OrganizationState, named = organization) =>
  provisioning.get(WorkerDatabase).transaction((tx) =>
    provisioning.get(Outbox).publish(tx, {
      stream: 'internal',
      type: 'organization.updated',
      aggregateId: named.orgId,
      aggregateVersion: named.version,
      partnerId: named.partnerId,
      orgId: named.orgId,
      data: organization,
    }),
  );
const publishSet = (organizations: unknown) =>
  provisioning.get(WorkerDatabase).transaction((tx) =>
    provisioning.get(Outbox).publish(tx, {
      ...{ stream: 'internal', type: 'organizations.changed', aggregateId: first.partnerId },
      ...{ partnerId: first.partnerId, orgId: null, data: { organizations: organizations as OrganizationState[] } },
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
  });

  it('stores the states of an event of several organizations, and ignores older versions', async () => {
    const known = own({ version: 3, name: 'Three' });
    await publish(known);
    await eventually(async () => expect(await stored(known.orgId)).toEqual(['Three v3']));
    const others = Array.from({ length: 99 }, (_, n) => own({ name: `Imported ${n}` }));
    await publishSet([...others, { ...known, version: 2, name: 'Two' }]);
    await eventually(async () => {
      for (const [n, { orgId }] of others.entries()) expect(await stored(orgId)).toEqual([`Imported ${n} v1`]);
    });
    expect(await stored(known.orgId)).toEqual(['Three v3']);
    const before = asked;
    expect(await directory.find(others[0].orgId)).toEqual(others[0]);
    expect(asked).toBe(before);
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

  describe('preload', () => {
    const repository = () => dispatcher.get(OrganizationDirectoryRepository, { strict: false });
    /** Returns organizations that the table has and memory does not. */
    const storeSet = async (count: number) => {
      const organizations = Array.from({ length: count }, () => own());
      await publishSet(organizations);
      for (const { orgId } of organizations)
        await eventually(async () => expect(await stored(orgId)).toEqual(['Acme v1']));
      return organizations;
    };

    it('reads many organizations with two statements, and leaves unknown ones to their owner', async () => {
      const organizations = await storeSet(20);
      const unknown = own();
      const ids = [...organizations, unknown].map(({ orgId }) => orgId.toUpperCase());
      const list = jest.spyOn(repository(), 'list');
      const before = asked;
      await directory.preload([...ids, 'no id']);
      for (const { orgId } of organizations) await directory.find(orgId);
      expect(list).toHaveBeenCalledTimes(2);
      expect(asked).toBe(before);
      expect(await directory.find(unknown.orgId)).toEqual(unknown);
      expect(asked).toBe(before + 1);
      list.mockRestore();
    });

    it('reads an organization again that was changed meanwhile', async () => {
      const [changed, other] = await storeSet(2);
      const list = repository().list.bind(repository());
      let reads = 0;
      const listed = jest.spyOn(repository(), 'list').mockImplementation(async (db, ids) => {
        const rows = await list(db, ids);
        if (++reads === 2) {
          own({ ...changed, status: 'suspended', version: 2 });
          directory.markOutdated([changed.orgId]);
        }
        return rows;
      });
      await directory.preload([changed.orgId, other.orgId]);
      listed.mockRestore();
      expect(await directory.find(changed.orgId)).toMatchObject({ status: 'suspended' });
      expect(await directory.find(other.orgId)).toEqual(other);
    });
  });

  it('throws UnavailableError while provisioning publishes no heartbeat, and for no other reason', async () => {
    const organization = own();
    await directory.find(organization.orgId);
    const feed = dispatcher.get(InvalidationFeeds).organizations;
    const silent = jest.spyOn(feed, 'alive', 'get').mockReturnValue(false);
    expect(() => feed.assertAlive()).toThrow(UnavailableError);
    await expect(directory.find(organization.orgId)).rejects.toBeInstanceOf(UnavailableError);
    silent.mockRestore();
    expect(await directory.find(organization.orgId)).toEqual(organization);
  });
});

describe('a change that cannot be applied', () => {
  const unreadable = async () => {
    const metric = dispatcher.get(MetricsRegistry).registry.getSingleMetric('rmm_directory_unreadable_total');
    const { values } = (await metric?.get()) ?? { values: [] };
    return values.reduce((sum, { value }) => sum + value, 0);
  };

  it.each<[string, object]>([
    ['an unknown status', { status: 'open' }],
    ['no version', { version: 'x' }],
    ['no partner', { partnerId: 'p' }],
  ])('marks the organization, counts it and reads the owner next (%s)', async (_, broken) => {
    const organization = own();
    await publish(organization);
    await eventually(async () => expect(await statusOf(organization.orgId)).toBe('active'));
    const [counted, before] = [await unreadable(), asked];
    const current = own({ ...organization, status: 'suspended', version: 2 });
    await publish({ ...current, ...broken }, organization);
    await eventually(async () => expect(await unreadable()).toBe(counted + 1));
    expect(await statusOf(organization.orgId)).toBe('unknown');
    expect((await directory.find(organization.orgId))?.status).toBe('suspended');
    expect(asked).toBe(before + 1);
    expect(await statusOf(organization.orgId)).toBe('suspended');
  });

  it('marks the organization of an event of several, and applies the others', async () => {
    const [broken, fine] = [own(), own()];
    for (const each of [broken, fine]) await publish(each);
    await eventually(async () => expect(await statusOf(fine.orgId)).toBe('active'));
    await eventually(async () => expect(await statusOf(broken.orgId)).toBe('active'));
    const counted = await unreadable();
    own({ ...broken, status: 'suspended', version: 2 });
    const suspended = own({ ...fine, status: 'suspended', version: 2 });
    await publishSet([{ ...broken, version: 2, status: 'open' }, suspended]);
    await eventually(async () => expect(await statusOf(fine.orgId)).toBe('suspended'));
    await eventually(async () => expect(await unreadable()).toBe(counted + 1));
    expect(await statusOf(broken.orgId)).toBe('unknown');
    expect((await directory.find(broken.orgId))?.status).toBe('suspended');
  });

  it.each<[string, unknown]>([
    ['no list', 'x'],
    ['a state without an id', [{ status: 'suspended' }]],
  ])('compares all organizations with the owner when an event does not name its own (%s)', async (_, organizations) => {
    const organization = own();
    await publish(organization);
    await eventually(async () => expect(await statusOf(organization.orgId)).toBe('active'));
    own({ ...organization, status: 'suspended', version: 2 });
    const counted = await unreadable();
    await publishSet(organizations);
    await eventually(async () => expect(await unreadable()).toBe(counted + 1));
    expect((await directory.find(organization.orgId))?.status).toBe('suspended');
    await directory.reconcile();
    await directory.reconcile();
  });

  it('throws UnavailableError while the organization is marked and the owner does not respond', async () => {
    const organization = own();
    await publish(organization);
    await eventually(async () => expect(await statusOf(organization.orgId)).toBe('active'));
    await publish({ ...organization, version: 2, status: 'open' } as unknown as OrganizationState, organization);
    await eventually(async () => expect(await statusOf(organization.orgId)).toBe('unknown'));
    getFails = true;
    await expect(directory.find(organization.orgId)).rejects.toBeInstanceOf(UnavailableError);
    getFails = false;
    expect(await directory.find(organization.orgId)).toEqual(organization);
  });

  it('costs only the field when another field is malformed', async () => {
    const organization = own({ status: 'suspended', version: 2 });
    await publish({ ...organization, name: 'a\0b', slug: 7 } as unknown as OrganizationState);
    await eventually(async () => expect(await statusOf(organization.orgId)).toBe('suspended'));
    expect(await stored(organization.orgId)).toEqual([' v2']);
  });
});

describe('a reconciliation', () => {
  beforeEach(async () => {
    await worker.query(`update organization_directory set updated_at = now() - interval '1 hour'`);
  });

  it('fills and heals the table from the owner in pages', async () => {
    for (let i = 0; i < 1_100; i++) own({ name: `Org ${i}` });
    await directory.reconcile();
    const [{ count }] = await worker.query<{ count: string }>('select count(*) from organization_directory');
    expect(Number(count)).toBe(owned.size);
    const suspended = own({ ...first, status: 'suspended', version: 9 });
    expect(await directory.reconcile()).toBe(1);
    expect(await statusOf(suspended.orgId)).toBe('suspended');
    expect(await directory.reconcile()).toBe(0);
  });

  it('locks and writes no row that is the same', async () => {
    const organizations = Array.from({ length: 20 }, (_, n) => own({ name: `Same ${n}` }));
    const [organization] = organizations;
    await directory.reconcile();
    own({ ...organization, status: 'suspended', version: 2 });
    const rows = () =>
      worker.query<{ id: string; tuple: string }>(
        'select org_id as id, ctid || xmax::text as tuple from organization_directory where org_id = any (:ids)',
        { ids: organizations.map(({ orgId }) => orgId) },
      );
    const before = new Map((await rows()).map(({ id, tuple }) => [id, tuple]));
    expect(before.size).toBe(20);
    await directory.reconcile();
    const touched = (await rows()).filter(({ id, tuple }) => before.get(id) !== tuple);
    expect(touched.map(({ id }) => id)).toEqual([organization.orgId]);
  });

  it('takes the owner back to an older version after the owner was restored', async () => {
    const organization = own({ version: 7 });
    await directory.reconcile();
    await worker.query(`update organization_directory set updated_at = now() - interval '1 hour'`);
    own({ ...organization, status: 'suspended', version: 5 });
    await directory.reconcile();
    expect(await statusOf(organization.orgId)).toBe('suspended');
  });

  it('does not undo a change that arrived while the owner was read', async () => {
    const organization = own({ version: 3 });
    await publish({ ...organization, status: 'suspended', version: 4 });
    await eventually(async () => expect(await statusOf(organization.orgId)).toBe('suspended'));
    await directory.reconcile();
    expect(await statusOf(organization.orgId)).toBe('suspended');
  });

  it('marks organizations that the owner does not have', async () => {
    const organization = own();
    await directory.reconcile();
    await worker.query(`update organization_directory set updated_at = now() - interval '1 hour'`);
    owned.delete(organization.orgId);
    await directory.reconcile();
    expect(await statusOf(organization.orgId)).toBe('unknown');
    expect(await directory.find(organization.orgId)).toBeNull();
  });

  it('starts after a gap in the feed, and until it ends every look-up goes to the owner', async () => {
    const organization = own();
    await directory.reconcile();
    await worker.query(`update organization_directory set updated_at = now() - interval '1 hour'`);
    own({ ...organization, status: 'suspended', version: 2 });
    listFails = true;
    const before = listed;
    directory.distrust();
    expect((await directory.find(organization.orgId))?.status).toBe('suspended');
    await eventually(() => expect(listed).toBeGreaterThan(before));
    listFails = false;
    await worker.query(`update organization_directory set status = 'active', version = 1 where org_id = $1`, [
      organization.orgId,
    ]);
    clock.advance(10_000);
    await eventually(async () => expect(await statusOf(organization.orgId)).toBe('suspended'));
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
    await directory.find(mine.orgId);
    await directory.find(theirs.orgId);
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
    const admin = new pg.Client({ connectionString: cluster.database.adminUrl });
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
