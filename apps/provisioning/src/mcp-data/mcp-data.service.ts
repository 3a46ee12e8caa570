import { Injectable } from '@nestjs/common';
import { isSiteRestricted, restrictedKeyCaller, SiteAccessDenied } from '@rmm/access';
import type {
  McpAutomation,
  McpDevice,
  McpDeviceSummary,
  McpGetDeviceRequest,
  McpGetScriptRequest,
  McpListAutomationsRequest,
  McpListDevicesRequest,
  McpListScriptsRequest,
  McpListSitesRequest,
  McpPage,
  McpPostureSummary,
  McpPostureSummaryRequest,
  McpScript,
  McpScriptSummary,
  McpSetCustomFieldsRequest,
  McpSetTagsRequest,
  McpSite,
} from '@rmm/contracts';
import { DeviceChangesService } from '../devices/changes/device-changes.service.js';
import { CustomFieldsService } from '../devices/custom-fields/custom-fields.service.js';
import { DevicesService } from '../devices/devices.service.js';
import { ListDevicesDto } from '../devices/dto/list-devices.dto.js';
import { PostureService } from '../devices/posture/posture.service.js';
import { ListScriptsDto } from '../scripts/dto/list-scripts.dto.js';
import { ScriptsService } from '../scripts/scripts.service.js';
import { ListSitesDto } from '../sites/dto/list-sites.dto.js';
import { SitesService } from '../sites/sites.service.js';
import { AutomationsRepository } from './automations.repository.js';
import {
  toMcpDevice,
  toMcpDeviceSummary,
  toMcpPage,
  toMcpScript,
  toMcpScriptSummary,
  toMcpSite,
} from './mcp-data.mapper.js';

/**
 * Reads and writes for API keys that use MCP, as the routes do for users: in the organization of the key, restricted to
 * the sites and device groups of its creator. @see docs/reference/mcp.md
 */
@Injectable()
export class McpDataService {
  constructor(
    private readonly devices: DevicesService,
    private readonly changes: DeviceChangesService,
    private readonly customFields: CustomFieldsService,
    private readonly sites: SitesService,
    private readonly scripts: ScriptsService,
    private readonly automations: AutomationsRepository,
    private readonly posture: PostureService,
  ) {}

  /** @throws InvalidCursor, ValidationError; SiteAccessDenied  for a site that the key may not see */
  async listDevices({
    caller,
    siteId,
    status,
    osType,
    search,
    ...page
  }: McpListDevicesRequest): Promise<McpPage<McpDeviceSummary>> {
    const filter = { siteId, status, osType, search };
    const query = Object.assign(new ListDevicesDto(), filter, toKeysetQuery(page));
    return toMcpPage(await this.devices.list(restrictedKeyCaller(caller), query), toMcpDeviceSummary);
  }

  /** @throws NotFoundError, SiteAccessDenied */
  async getDevice({ caller, deviceId }: McpGetDeviceRequest): Promise<McpDevice> {
    return toMcpDevice(await this.devices.get(restrictedKeyCaller(caller), deviceId));
  }

  /** @throws InvalidCursor */
  async listSites({ caller, search, ...page }: McpListSitesRequest): Promise<McpPage<McpSite>> {
    const query = Object.assign(new ListSitesDto(), { search }, toKeysetQuery(page));
    return toMcpPage(await this.sites.list(restrictedKeyCaller(caller), query), toMcpSite);
  }

  /** Lists the scripts of the organization and those of all organizations of its partner. @throws InvalidCursor */
  async listScripts({
    caller,
    search,
    language,
    osType,
    ...page
  }: McpListScriptsRequest): Promise<McpPage<McpScriptSummary>> {
    const query = Object.assign(new ListScriptsDto(), { search, language, osType }, toKeysetQuery(page));
    return toMcpPage(await this.scripts.list(restrictedKeyCaller(caller), query), toMcpScriptSummary);
  }

  /** @throws NotFoundError */
  async getScript({ caller, scriptId, offset }: McpGetScriptRequest): Promise<McpScript> {
    return toMcpScript(await this.scripts.get(restrictedKeyCaller(caller), scriptId), offset);
  }

  /**
   * Lists the automations of the organization and those of all organizations of its partner.
   * @throws InvalidCursor; SiteAccessDenied  for a restricted key: an automation names no site
   */
  async listAutomations({ caller, ...page }: McpListAutomationsRequest): Promise<McpPage<McpAutomation>> {
    const key = restrictedKeyCaller(caller);
    if (isSiteRestricted(key)) throw new SiteAccessDenied();
    return this.automations.list(key, page);
  }

  async summarizePosture({ caller, category, stalenessDays }: McpPostureSummaryRequest): Promise<McpPostureSummary> {
    const { data } = await this.posture.summarize(restrictedKeyCaller(caller), { category, stalenessDays });
    const products = data.orgs[0]?.products ?? [];
    return { category, stalenessDays, totals: data.totals, products, truncated: data.truncated ?? false };
  }

  /** @throws NotFoundError, ValidationError, SiteAccessDenied */
  setCustomFields({ caller, deviceId, customFields }: McpSetCustomFieldsRequest): Promise<{
    customFields: Record<string, unknown>;
  }> {
    return this.customFields.merge(restrictedKeyCaller(caller), deviceId, customFields);
  }

  /** @throws NotFoundError, ValidationError, DeviceDecommissioned, SiteAccessDenied */
  async setTags({ caller, deviceId, tags }: McpSetTagsRequest): Promise<{ tags: string[] }> {
    const unique = [...new Set(tags)];
    const device = await this.changes.update(restrictedKeyCaller(caller), deviceId, { tags: unique });
    return { tags: device.tags };
  }
}

/** Returns the paging of a list by cursor, newest first; the first page states the total. */
const toKeysetQuery = ({ cursor, limit }: { cursor: string | null; limit: number }) => ({
  cursor: cursor ?? '',
  includeTotal: cursor === null,
  limit,
});
