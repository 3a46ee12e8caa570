import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import type { OrganizationsInUseRequest, RpcContract } from '@rmm/contracts';
import type { RpcClient } from '@rmm/messaging';
import { UnavailableError } from '@rmm/service-kit';
import { OrganizationUseService } from './organization-use.service.js';
import type { OpenChange } from './undo-plan.types.js';

const PARTNER = randomUUID();
const CALLER = {
  ...{ kind: 'user', userId: randomUUID(), sessionId: randomUUID() },
  tenant: { scope: 'partner', partnerId: PARTNER, orgId: null, orgAccess: 'all', orgIds: [] },
} as unknown as UserCaller;

const buildChange = (values: Partial<OpenChange> = {}) =>
  ({ resource: 'organization', action: 'create', recordId: randomUUID(), ...values }) as OpenChange;

describe('OrganizationUseService', () => {
  type Reply = (subject: string, request: OrganizationsInUseRequest) => string[];
  const calls: { subject: string; request: OrganizationsInUseRequest }[] = [];
  const buildService = (reply: Reply) => {
    calls.length = 0;
    const call = ({ subject }: RpcContract<unknown, unknown>, request: OrganizationsInUseRequest) => {
      calls.push({ subject, request });
      return Promise.resolve().then(() => ({ orgIds: reply(subject, request) }));
    };
    return new OrganizationUseService({ call } as unknown as RpcClient);
  };

  it('asks each service once about all created organizations, as the caller', async () => {
    const [one, two] = [buildChange(), buildChange()];
    const others = [buildChange({ action: 'reactivate' }), buildChange({ resource: 'site' })];
    const service = buildService((subject) => (subject.includes('credentials') ? [two.recordId] : []));
    expect(await service.listUsed(CALLER, PARTNER, [one, two, ...others])).toEqual(new Set([two.recordId]));
    expect(calls.map(({ subject }) => subject)).toEqual([
      'rmm.rpc.identity.organizations.in-use',
      'rmm.rpc.credentials.organizations.in-use',
      'rmm.rpc.webhook-dispatcher.organizations.in-use',
    ]);
    expect(calls[0]?.request).toMatchObject({
      caller: { kind: 'user', userId: CALLER.userId },
      partnerId: PARTNER,
      orgIds: [one.recordId, two.recordId],
    });
  });

  it('divides more organizations than one call takes, and asks nothing without any', async () => {
    const service = buildService((_, { orgIds }) => orgIds.slice(0, 1));
    expect(
      (
        await service.listUsed(
          CALLER,
          PARTNER,
          Array.from({ length: 1_001 }, () => buildChange()),
        )
      ).size,
    ).toBe(2);
    expect(calls.map(({ request }) => request.orgIds.length)).toEqual([1_000, 1_000, 1_000, 1, 1, 1]);
    expect(await buildService(() => []).listUsed(CALLER, PARTNER, [])).toEqual(new Set());
    expect(calls).toEqual([]);
  });

  it.each(['identity', 'credentials', 'webhook-dispatcher'])('fails when %s is unreachable', async (name) => {
    const service = buildService((subject) => {
      if (subject.includes(name)) throw new UnavailableError();
      return [];
    });
    await expect(service.listUsed(CALLER, PARTNER, [buildChange()])).rejects.toBeInstanceOf(UnavailableError);
  });
});
