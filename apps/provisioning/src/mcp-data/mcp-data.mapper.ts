import {
  MCP_CONTENT_SLICE,
  type McpDevice,
  type McpDeviceSummary,
  type McpPage,
  type McpScript,
  type McpScriptSummary,
  type McpSite,
} from '@rmm/contracts';
import type { DeviceDto } from '../devices/dto/device.dto.js';
import type { SortedPage } from '../lists/dto/sorted-page.dto.js';
import type { ScriptDto, ScriptSummaryDto } from '../scripts/dto/script.dto.js';
import type { SiteDto } from '../sites/dto/site.dto.js';

/** Characters of a description in a list. */
export const LISTED_DESCRIPTION = 500;
const LEADING_SURROGATE = /[\uD800-\uDBFF]$/;

export const toMcpPage = <From, To>({ data, pagination }: SortedPage<From>, map: (row: From) => To): McpPage<To> => ({
  items: data.map(map),
  total: pagination.total ?? null,
  nextCursor: pagination.nextCursor ?? null,
});

export const toMcpDeviceSummary = (device: DeviceDto): McpDeviceSummary => ({
  id: device.id,
  siteId: device.siteId,
  hostname: device.hostname,
  displayName: device.displayName,
  osType: device.osType,
  osVersion: device.osVersion,
  architecture: device.architecture,
  deviceRole: device.deviceRole,
  agentVersion: device.agentVersion,
  status: device.status,
  lastSeenAt: device.lastSeenAt,
  enrolledAt: device.enrolledAt,
  tags: device.tags,
  groupIds: device.groupIds,
});

export const toMcpDevice = (device: DeviceDto): McpDevice => ({
  ...toMcpDeviceSummary(device),
  customFields: device.customFields ?? {},
  hardware: device.hardware,
  metrics: device.metrics,
});

/** Leaves out contacts and settings, which contain names and addresses of users. */
export const toMcpSite = (site: SiteDto): McpSite => ({
  id: site.id,
  name: site.name,
  timezone: site.timezone,
  address: site.address && { ...site.address },
  deviceCount: site.deviceCount,
  createdAt: site.createdAt,
});

const toSummary = (script: ScriptSummaryDto): McpScriptSummary => ({
  id: script.id,
  orgId: script.orgId,
  name: script.name,
  description: script.description,
  category: script.category,
  osTypes: script.osTypes,
  language: script.language,
  runAs: script.runAs,
  timeoutSeconds: script.timeoutSeconds,
  tags: script.tags,
  version: script.version,
  updatedAt: script.updatedAt,
});

export const toMcpScriptSummary = (script: ScriptSummaryDto): McpScriptSummary => ({
  ...toSummary(script),
  description: script.description && sliceText(script.description, 0, LISTED_DESCRIPTION),
});

/** Returns the script with the part of its content that begins at `offset`. */
export function toMcpScript(script: ScriptDto, offset: number): McpScript {
  const content = sliceText(script.content, offset, MCP_CONTENT_SLICE);
  const end = offset + content.length;
  const contentLength = script.content.length;
  const nextOffset = end < contentLength ? end : null;
  return { ...toSummary(script), parameters: script.parameters, content, contentLength, nextOffset };
}

/** Returns at most `length` characters and never ends within a surrogate pair. */
function sliceText(text: string, from: number, length: number): string {
  const slice = text.slice(from, from + length);
  return from + length < text.length ? slice.replace(LEADING_SURROGATE, '') : slice;
}
