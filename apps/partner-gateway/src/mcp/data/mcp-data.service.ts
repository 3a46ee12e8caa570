import { Inject, Injectable } from '@nestjs/common';
import { createHmac } from 'node:crypto';
import { type ApiKeyCaller, toActingCaller, toRestrictedKey } from '@rmm/access';
import {
  MCP_MAX_ALERTS,
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
  type McpAlert,
  type McpAutomation,
  type McpDevice,
  type McpDeviceSummary,
  type McpListAutomationsRequest,
  type McpListDevicesRequest,
  type McpListScriptsRequest,
  type McpListSitesRequest,
  type McpPage,
  type McpPostureSummary,
  type McpPostureSummaryRequest,
  type McpScript,
  type McpScriptSummary,
  type McpSite,
} from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { Cursors } from '@rmm/persistence';
import { PARTNER_GATEWAY_CONFIG, type PartnerGatewayConfig } from '../../config.js';

type Without<Request> = Omit<Request, 'caller'>;

const ALERTS = 'mcp-alerts';
const NEWEST_FIRST = 'newest';

/** Reads and writes the data of a key's organization in the services that own it, as the key. */
@Injectable()
export class McpDataService {
  private readonly alertCursors: Cursors;

  constructor(
    private readonly rpc: RpcClient,
    @Inject(PARTNER_GATEWAY_CONFIG) { cursorSigningKey }: Pick<PartnerGatewayConfig, 'cursorSigningKey'>,
  ) {
    this.alertCursors = new Cursors(createHmac('sha256', cursorSigningKey).update('mcp-alert-cursor').digest());
  }

  /** @throws ValidationError, BadRequestError for an invalid cursor, ForbiddenError, UnavailableError */
  listDevices(key: ApiKeyCaller, query: Without<McpListDevicesRequest>): Promise<McpPage<McpDeviceSummary>> {
    return this.rpc.call(PROVISIONING_MCP_LIST_DEVICES, { caller: toRestrictedKey(key), ...query });
  }

  /** @throws NotFoundError, ForbiddenError, UnavailableError */
  getDevice(key: ApiKeyCaller, deviceId: string): Promise<McpDevice> {
    return this.rpc.call(PROVISIONING_MCP_GET_DEVICE, { caller: toRestrictedKey(key), deviceId });
  }

  listSites(key: ApiKeyCaller, query: Without<McpListSitesRequest>): Promise<McpPage<McpSite>> {
    return this.rpc.call(PROVISIONING_MCP_LIST_SITES, { caller: toRestrictedKey(key), ...query });
  }

  listScripts(key: ApiKeyCaller, query: Without<McpListScriptsRequest>): Promise<McpPage<McpScriptSummary>> {
    return this.rpc.call(PROVISIONING_MCP_LIST_SCRIPTS, { caller: toRestrictedKey(key), ...query });
  }

  /** @throws NotFoundError, UnavailableError */
  getScript(key: ApiKeyCaller, scriptId: string, offset: number): Promise<McpScript> {
    return this.rpc.call(PROVISIONING_MCP_GET_SCRIPT, { caller: toRestrictedKey(key), scriptId, offset });
  }

  /** @throws BadRequestError for an invalid cursor, ForbiddenError for a restricted key, UnavailableError */
  listAutomations(key: ApiKeyCaller, query: Without<McpListAutomationsRequest>): Promise<McpPage<McpAutomation>> {
    return this.rpc.call(PROVISIONING_MCP_LIST_AUTOMATIONS, { caller: toRestrictedKey(key), ...query });
  }

  summarizePosture(key: ApiKeyCaller, query: Without<McpPostureSummaryRequest>): Promise<McpPostureSummary> {
    return this.rpc.call(PROVISIONING_MCP_POSTURE_SUMMARY, { caller: toRestrictedKey(key), ...query });
  }

  /**
   * Lists alert events that are still in the stream, newest first: the latest 100, page by page.
   * @throws InvalidCursor, UnavailableError
   */
  async listAlerts(
    key: ApiKeyCaller,
    { cursor, limit }: { cursor: string | null; limit: number },
  ): Promise<{ alerts: McpAlert[]; nextCursor: string | null }> {
    const binding = { caller: key, list: ALERTS, filters: {} };
    const [before = null, left = MCP_MAX_ALERTS] =
      cursor === null ? [] : this.alertCursors.decode(cursor, binding, NEWEST_FIRST).map(Number);
    const size = Math.min(limit, left);
    const request = { caller: toActingCaller(key), before, limit: size };
    const { alerts, next } = await this.rpc.call(WEBHOOK_DISPATCHER_MCP_LIST_ALERTS, request);
    const isLast = next === null || left - size <= 0;
    const position = [String(next), String(left - size)];
    return { alerts, nextCursor: isLast ? null : this.alertCursors.encode(position, binding, NEWEST_FIRST) };
  }

  /** @throws NotFoundError, ValidationError, ForbiddenError, UnavailableError */
  setCustomFields(
    key: ApiKeyCaller,
    deviceId: string,
    customFields: Record<string, unknown>,
  ): Promise<{ customFields: Record<string, unknown> }> {
    return this.rpc.call(PROVISIONING_MCP_SET_CUSTOM_FIELDS, { caller: toRestrictedKey(key), deviceId, customFields });
  }

  /** @throws NotFoundError, ValidationError, ConflictError, ForbiddenError, UnavailableError */
  setTags(key: ApiKeyCaller, deviceId: string, tags: string[]): Promise<{ tags: string[] }> {
    return this.rpc.call(PROVISIONING_MCP_SET_TAGS, { caller: toRestrictedKey(key), deviceId, tags });
  }
}
