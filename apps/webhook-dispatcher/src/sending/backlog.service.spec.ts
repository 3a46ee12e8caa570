import type { Logger } from '@rmm/service-kit';
import { BacklogService } from './backlog.service.js';
import type { ClaimsRepository } from './claims.repository.js';
import type { LeaseReleaseService } from './lease-release.service.js';
import type { LeasedDelivery } from './leased-delivery.types.js';
import type { SenderService } from './sender.service.js';

const ORG = 'organization';
const RUN_MS = 250;
/** Deliveries that an organization without a queue claims in one run. */
const ROOM = 500;

describe('BacklogService', () => {
  const claimBacklog = jest.fn<Promise<LeasedDelivery[]>, [orgId: string, limit: number]>();
  const sent: LeasedDelivery[] = [];
  let backlog: BacklogService;

  const deliveries = (count: number) => Array.from({ length: count }, (_, i) => ({ id: String(i) }) as LeasedDelivery);

  beforeEach(() => {
    jest.useFakeTimers();
    claimBacklog.mockReset();
    sent.length = 0;
    const sender = {
      queued: 0,
      room: 10_000,
      countQueued: () => 0,
      sendClaimed: (claimed: LeasedDelivery[]) => Promise.resolve(void sent.push(...claimed)),
    };
    const claims = { claimBacklog, listBacklogOrganizations: () => Promise.resolve([]) };
    backlog = new BacklogService(
      sender as unknown as SenderService,
      { flush: () => Promise.resolve() } as LeaseReleaseService,
      claims as unknown as ClaimsRepository,
      { warn: jest.fn() } as unknown as Logger,
    );
    backlog.add(ORG);
    backlog.start();
  });
  afterEach(async () => {
    jest.useRealTimers();
    await backlog.stop();
  });

  it('keeps new deliveries behind the backlog while a part of it is claimed', async () => {
    const duringClaim: boolean[] = [];
    claimBacklog.mockImplementation((orgId, limit) => {
      duringClaim.push(backlog.isInBacklog(orgId));
      return Promise.resolve(deliveries(limit));
    });
    await jest.advanceTimersByTimeAsync(RUN_MS);
    expect(duringClaim).toEqual([true]);
    expect(backlog.isInBacklog(ORG)).toBe(true);
    expect(sent).toHaveLength(ROOM);
  });

  it('claims what joined the backlog during the claim that emptied it', async () => {
    claimBacklog.mockResolvedValueOnce(deliveries(3)).mockResolvedValueOnce(deliveries(2));
    await jest.advanceTimersByTimeAsync(RUN_MS);
    expect(claimBacklog.mock.calls).toEqual([
      [ORG, ROOM],
      [ORG, ROOM - 3],
    ]);
    expect(sent).toHaveLength(5);
    expect(backlog.isInBacklog(ORG)).toBe(false);
  });

  it('stays behind the backlog when as many joined it as fit', async () => {
    claimBacklog.mockResolvedValueOnce([]).mockImplementationOnce((_, limit) => Promise.resolve(deliveries(limit)));
    await jest.advanceTimersByTimeAsync(RUN_MS);
    expect(backlog.isInBacklog(ORG)).toBe(true);
  });
});
