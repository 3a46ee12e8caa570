import { randomUUID } from 'node:crypto';
import type { RpcClient } from '@rmm/messaging';
import { NotFoundError, UnavailableError, type Logger } from '@rmm/service-kit';
import { EraseOrganizationDataJob } from './erase-organization-data.job.js';
import type { OrganizationEraser } from './organization-eraser.js';
import type { OrganizationErasure, OrganizationErasuresRepository } from './organization-erasures.repository.js';

type State = OrganizationErasure & { records: number; finished: boolean; reported: boolean };

describe('EraseOrganizationDataJob', () => {
  let states: State[];
  let sent: unknown[];
  let failing: Set<string>;
  let isRpcUp: boolean;
  let refused: Set<string>;
  const error = jest.fn();
  const logger = { error } as unknown as Logger;

  beforeEach(() => {
    [states, sent, failing, refused, isRpcUp] = [[], [], new Set(), new Set(), true];
  });

  const add = (records: number): State => {
    const state = {
      orgId: randomUUID(),
      partnerId: randomUUID(),
      erased: {},
      records,
      finished: false,
      reported: false,
    };
    states.push(state);
    return state;
  };
  const of = ({ orgId }: { orgId: string }) => states.find((state) => state.orgId === orgId) as State;

  const erasures = {
    transaction: (work: (tx: unknown) => unknown) => Promise.resolve(work({})),
    claim: (_: unknown, skipped: string[]) =>
      Promise.resolve(states.find(({ finished, orgId }) => !finished && !skipped.includes(orgId)) ?? null),
    saveCounts: (_: unknown, erasure: OrganizationErasure) =>
      Promise.resolve(void (of(erasure).erased = erasure.erased)),
    finish: (_: unknown, erasure: OrganizationErasure) => Promise.resolve(void (of(erasure).finished = true)),
    listUnreported: () => Promise.resolve(states.filter(({ finished, reported }) => finished && !reported)),
    markReported: (erasure: OrganizationErasure) => Promise.resolve(void (of(erasure).reported = true)),
  } as unknown as OrganizationErasuresRepository;
  const eraser: OrganizationEraser = {
    eraseBatch: (_, organization, limit) => {
      const state = of(organization);
      if (failing.has(state.orgId)) return Promise.reject(new Error('a row that cannot be deleted'));
      const count = Math.min(limit, state.records);
      state.records -= count;
      return Promise.resolve(count > 0 ? { thing: count, other: 0 } : null);
    },
  };
  const rpc = {
    call: (_: unknown, request: { orgId: string }) => {
      if (!isRpcUp) return Promise.reject(new UnavailableError());
      if (refused.has(request.orgId)) return Promise.reject(new NotFoundError('Organization'));
      return Promise.resolve(void sent.push(request));
    },
  } as unknown as RpcClient;
  const run = () => new EraseOrganizationDataJob(erasures, eraser, rpc, logger, 'credentials').run();

  it('erases every organization in batches and reports the sums once', async () => {
    const [first, second] = [add(1_200), add(0)];
    await run();
    await run();
    const report = ({ orgId, partnerId }: State, erased: object) => ({
      ...{ orgId, partnerId, erased },
      service: 'credentials',
    });
    expect(sent).toEqual([report(first, { thing: 1_200 }), report(second, {})]);
  });

  it('reports the others when provisioning does not know one', async () => {
    const [unknown, other] = [add(1), add(1)];
    refused.add(unknown.orgId);
    await run();
    expect(sent).toEqual([expect.objectContaining({ orgId: other.orgId })]);
    expect([unknown.reported, other.reported]).toEqual([true, true]);
    expect(error).toHaveBeenCalledWith(expect.objectContaining({ orgId: unknown.orgId }), expect.any(String));
  });

  it('leaves an organization whose records cannot be deleted to the next run, and erases the others', async () => {
    const [stuck, other] = [add(5), add(5)];
    failing.add(stuck.orgId);
    await run();
    expect([stuck.finished, other.reported]).toEqual([false, true]);
    failing.clear();
    await run();
    expect(stuck.reported).toBe(true);
  });

  it('reports in the next run what provisioning did not receive', async () => {
    const state = add(5);
    isRpcUp = false;
    await expect(run()).rejects.toThrow(UnavailableError);
    expect([state.finished, state.reported]).toEqual([true, false]);
    isRpcUp = true;
    await run();
    expect(sent).toMatchObject([{ erased: { thing: 5 } }]);
  });
});
