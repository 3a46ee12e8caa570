import { Controller, type INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import {
  IDENTITY_PARTNERS_GET,
  IDENTITY_PARTNERS_LIST_SINCE,
  type PartnersSinceRequest,
  type PartnerState,
} from '@rmm/contracts';
import { Outbox, RpcHandler } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { MetricsRegistry, UnavailableError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { AccessTestCluster } from '../../test/access-test-cluster.js';
import { TENANT_LISTENER } from '../access.tokens.js';
import { PartnerDirectoryRepository } from './partner-directory.repository.js';
import { PartnerDirectory } from './partner-directory.service.js';

const owned = new Map<string, PartnerState>();
const changed: string[] = [];
let isDown = false;

@Controller()
class IdentityHandlers {
  @RpcHandler(IDENTITY_PARTNERS_GET)
  get({ partnerIds }: { partnerIds: string[] }) {
    if (isDown) throw new UnavailableError();
    return { partners: partnerIds.flatMap((id) => owned.get(id) ?? []) };
  }

  @RpcHandler(IDENTITY_PARTNERS_LIST_SINCE)
  listSince({ after }: PartnersSinceRequest) {
    const sorted = [...owned.values()].sort((a, b) => (a.partnerId < b.partnerId ? -1 : 1));
    return { partners: sorted.filter(({ partnerId }) => after === null || partnerId > after), next: null };
  }
}

describe('PartnerDirectory', () => {
  let cluster: AccessTestCluster;
  let identity: INestApplication;
  let credentials: INestApplication;
  let directory: PartnerDirectory;

  beforeAll(async () => {
    cluster = await AccessTestCluster.start();
    identity = await cluster.service('identity', { controllers: [IdentityHandlers] });
    const listener = {
      tenantsStored: (_: unknown, { partnerIds = [] }: { partnerIds?: string[] }) => {
        changed.push(...partnerIds);
        return Promise.resolve();
      },
      tenantsOutdated: () => undefined,
    };
    credentials = await cluster.service('credentials', {
      providers: [{ provide: TENANT_LISTENER, useValue: listener }],
    });
    directory = credentials.get(PartnerDirectory);
    await directory.reconcile();
  });
  afterAll(() => cluster.stop());
  beforeEach(() => (isDown = false));

  function own(changes: Partial<PartnerState> = {}): PartnerState {
    const partner: PartnerState = {
      partnerId: randomUUID(),
      name: 'Acme MSP',
      slug: 'acme-msp',
      status: 'active',
      maxOrganizations: 5,
      maxDevices: null,
      timezone: 'UTC',
      settings: { enrollment: { maxTtlMinutes: 60 } },
      version: 1,
      ...changes,
    };
    owned.set(partner.partnerId, partner);
    return partner;
  }
  const publish = (data: PartnerState, partner = data) =>
    identity.get(WorkerDatabase).transaction((tx) =>
      identity.get(Outbox).publish(tx, {
        stream: 'internal',
        type: 'partner.updated',
        aggregateId: partner.partnerId,
        aggregateVersion: partner.version,
        partnerId: partner.partnerId,
        orgId: null,
        data,
      }),
    );
  const stored = async (id: string) => {
    const sql = `select status, max_organizations as organizations, max_devices as devices,
      enrollment_max_ttl_minutes as ttl from partner_directory where partner_id = $1`;
    return (await credentials.get(WorkerDatabase).query(sql, [id]))[0];
  };
  const count = async (name: string) => {
    const metric = credentials.get(MetricsRegistry).registry.getSingleMetric(name);
    const { values } = (await metric?.get()) ?? { values: [] };
    return values.reduce((sum, { value }) => sum + value, 0);
  };

  it('reads a partner from identity on a miss and stores its caps', async () => {
    const partner = own();
    expect(await directory.find(partner.partnerId)).toMatchObject({ status: 'active', enrollmentMaxTtlMinutes: 60 });
    expect(await stored(partner.partnerId)).toEqual({ status: 'active', organizations: 5, devices: null, ttl: 60 });
  });

  it('returns null for a partner that identity does not have', async () => {
    expect(await directory.find(randomUUID())).toBeNull();
  });

  it('throws UnavailableError when it does not know the partner and identity does not respond', async () => {
    isDown = true;
    await expect(directory.find(own().partnerId)).rejects.toBeInstanceOf(UnavailableError);
  });

  it('stores the status of an event whose caps are malformed, with the strictest caps, and counts them', async () => {
    const partner = own();
    await directory.find(partner.partnerId);
    const before = await count('rmm_directory_malformed_fields_total');
    const settings = { enrollment: { maxTtlMinutes: 'x' as unknown as number } };
    await publish(own({ ...partner, status: 'suspended', version: 2, maxOrganizations: 1.5, settings }));
    await eventually(async () =>
      expect(await stored(partner.partnerId)).toEqual({ status: 'suspended', organizations: 0, devices: null, ttl: 1 }),
    );
    expect(await count('rmm_directory_malformed_fields_total')).toBe(before + 2);
    expect(changed).toContain(partner.partnerId);
  });

  it('stores the status when the database refuses the other fields', async () => {
    const partner = own();
    await directory.find(partner.partnerId);
    const repository = credentials.get(PartnerDirectoryRepository, { strict: false });
    const refusal = jest.spyOn(repository, 'updateDetails').mockRejectedValueOnce(new Error('22003'));
    await publish(own({ ...partner, status: 'suspended', version: 2 }));
    await eventually(async () =>
      expect(await stored(partner.partnerId)).toEqual({ status: 'suspended', organizations: 0, devices: 0, ttl: 1 }),
    );
    refusal.mockRestore();
  });

  it.each<[string, object]>([
    ['an unknown status', { status: 'open' }],
    ['a status that is no text', { status: { toString: 'active' } }],
    ['no version', { version: 'x' }],
  ])('marks the partner of an event with %s, counts it and reads identity next', async (_, broken) => {
    const partner = own();
    await publish(partner);
    await eventually(async () => expect(await stored(partner.partnerId)).toMatchObject({ status: 'active' }));
    const before = await count('rmm_directory_unreadable_total');
    const current = own({ ...partner, status: 'suspended', version: 2 });
    await publish({ ...current, ...broken }, current);
    await eventually(async () => expect(await count('rmm_directory_unreadable_total')).toBe(before + 1));
    expect(await stored(partner.partnerId)).toMatchObject({ status: 'unknown' });
    isDown = true;
    await expect(directory.find(partner.partnerId)).rejects.toBeInstanceOf(UnavailableError);
    isDown = false;
    expect((await directory.find(partner.partnerId))?.status).toBe('suspended');
  });

  it('marks the partner when its status cannot be stored, and reads it from identity next', async () => {
    const partner = own();
    await publish(partner);
    await eventually(async () => expect(await stored(partner.partnerId)).toMatchObject({ status: 'active' }));
    const repository = credentials.get(PartnerDirectoryRepository, { strict: false });
    const refusal = jest.spyOn(repository, 'upsertStatus').mockRejectedValue(new Error('22P02'));
    await publish(own({ ...partner, status: 'suspended', version: 2 }));
    await eventually(async () => expect(await stored(partner.partnerId)).toMatchObject({ status: 'unknown' }));
    isDown = true;
    await expect(directory.find(partner.partnerId)).rejects.toBeInstanceOf(UnavailableError);
    isDown = false;
    expect((await directory.find(partner.partnerId))?.status).toBe('suspended');
    refusal.mockRestore();
  });
});
