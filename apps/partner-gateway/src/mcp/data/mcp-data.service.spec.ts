import { randomUUID } from 'node:crypto';
import {
  PROVISIONING_MCP_GET_DEVICE,
  PROVISIONING_MCP_GET_SCRIPT,
  PROVISIONING_MCP_LIST_AUTOMATIONS,
  PROVISIONING_MCP_LIST_DEVICES,
  PROVISIONING_MCP_LIST_SCRIPTS,
  PROVISIONING_MCP_LIST_SITES,
  PROVISIONING_MCP_POSTURE_SUMMARY,
  PROVISIONING_MCP_SET_CUSTOM_FIELDS,
  PROVISIONING_MCP_SET_TAGS,
  WEBHOOK_DISPATCHER_MCP_LIST_ALERTS,
  type RpcContract,
} from '@rmm/contracts';
import type { RpcClient } from '@rmm/messaging';
import { InvalidCursor } from '@rmm/persistence';
import { apiKeyCaller } from '../../../test/api-key-callers.js';
import { McpDataService } from './mcp-data.service.js';

describe('McpDataService', () => {
  const caller = apiKeyCaller({ siteIds: [randomUUID()], deviceGroupIds: [] });
  const call = jest.fn();
  const config = { cursorSigningKey: 'x'.repeat(32) };
  const data = new McpDataService({ call } as unknown as RpcClient, config);
  const id = randomUUID();
  const page = { cursor: null, limit: 5 };

  beforeEach(() => call.mockReset().mockResolvedValue({}));

  it.each([
    [PROVISIONING_MCP_LIST_DEVICES, () => data.listDevices(caller, page)],
    [PROVISIONING_MCP_GET_DEVICE, () => data.getDevice(caller, id)],
    [PROVISIONING_MCP_LIST_SITES, () => data.listSites(caller, page)],
    [PROVISIONING_MCP_LIST_SCRIPTS, () => data.listScripts(caller, page)],
    [PROVISIONING_MCP_GET_SCRIPT, () => data.getScript(caller, id, 7)],
    [PROVISIONING_MCP_LIST_AUTOMATIONS, () => data.listAutomations(caller, page)],
    [PROVISIONING_MCP_POSTURE_SUMMARY, () => data.summarizePosture(caller, { category: 'rmm', stalenessDays: 7 })],
    [PROVISIONING_MCP_SET_CUSTOM_FIELDS, () => data.setCustomFields(caller, id, { a: null })],
    [PROVISIONING_MCP_SET_TAGS, () => data.setTags(caller, id, ['a'])],
  ] as [RpcContract<unknown, unknown>, () => Promise<unknown>][])(
    'calls %j as the key, with the restriction of its creator',
    async (contract, act) => {
      await act();
      expect(call).toHaveBeenCalledTimes(1);
      const [called, request] = call.mock.calls[0] as [unknown, { caller: object }];
      expect(called).toBe(contract);
      expect(request.caller).toMatchObject({
        ...{ kind: 'api_key', keyId: caller.keyId, siteIds: caller.siteIds, deviceGroupIds: [] },
        tenant: { scope: 'organization', orgId: caller.orgId, partnerId: caller.partnerId },
      });
      expect(contract.request.safeParse(request).success).toBe(true);
    },
  );

  describe('listAlerts', () => {
    const requests = () =>
      call.mock.calls.map(([, { before, limit }]: [unknown, { before: number; limit: number }]) => [before, limit]);
    let next = 1_000;

    beforeEach(() => {
      next = 1_000;
      call.mockImplementation(() => Promise.resolve({ alerts: [{ id }], next: (next -= 1) }));
    });

    it('ends after the latest hundred, although older ones are in the stream', async () => {
      let cursor: string | null = null;
      let pages = 0;
      do {
        const read: { nextCursor: string | null } = await data.listAlerts(caller, { cursor, limit: 24 });
        cursor = read.nextCursor;
        pages += 1;
      } while (cursor !== null);
      expect(pages).toBe(5);
      expect(requests()).toEqual([
        [null, 24],
        [999, 24],
        [998, 24],
        [997, 24],
        [996, 4],
      ]);
      expect(call.mock.calls[0]?.[0]).toBe(WEBHOOK_DISPATCHER_MCP_LIST_ALERTS);
    });

    it('ends when no older one is in the stream', async () => {
      call.mockResolvedValue({ alerts: [], next: null });
      expect(await data.listAlerts(caller, { cursor: null, limit: 20 })).toEqual({ alerts: [], nextCursor: null });
    });

    it('refuses a cursor that is forged or of another organization', async () => {
      const { nextCursor } = await data.listAlerts(caller, { cursor: null, limit: 20 });
      const foreign = data.listAlerts(apiKeyCaller(), { cursor: nextCursor, limit: 20 });
      await expect(foreign).rejects.toThrow(InvalidCursor);
      for (const cursor of ['x', 'WzEsMV0.x', `${nextCursor}x`]) {
        await expect(data.listAlerts(caller, { cursor, limit: 20 })).rejects.toThrow(InvalidCursor);
      }
    });
  });
});
