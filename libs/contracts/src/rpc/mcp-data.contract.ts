import { z } from 'zod';
import { restrictedApiKeySchema } from './acting-caller.contract.js';
import { uuid } from './fields.js';
import { replyOf, rpc, type RpcRequest } from './rpc-contract.js';

/** Records of a page: a page of the largest records stays below the message limit of NATS. */
export const MCP_MAX_PAGE = 50;
/** Characters of a script's content in one reply. */
export const MCP_CONTENT_SLICE = 32_000;

export const MCP_DEVICE_STATUSES = [
  'online',
  'offline',
  'maintenance',
  'decommissioned',
  'updating',
  'pending',
] as const;
export const MCP_OS_TYPES = ['windows', 'macos', 'linux'] as const;
export const MCP_SCRIPT_LANGUAGES = ['powershell', 'bash', 'python', 'cmd'] as const;
export const MCP_POSTURE_CATEGORIES = [
  'mdm',
  'rmm',
  'remoteAccess',
  'endpointSecurity',
  'policyEngine',
  'backup',
  'identityMfa',
  'siem',
  'dnsFiltering',
  'zeroTrustVpn',
  'patchManagement',
] as const;

const caller = restrictedApiKeySchema;
/** Characters that no text column can store: NUL, and half of a surrogate pair. */
// eslint-disable-next-line no-control-regex
const UNSTORABLE = /[\p{Surrogate}\u0000]/u;
const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => !UNSTORABLE.test(value), 'must not contain NUL or half of a surrogate pair');
const page = {
  /** Null on the first page. */
  cursor: z.string().min(1).max(4_096).nullable(),
  limit: z.int().min(1).max(MCP_MAX_PAGE),
};

/** One page; `total` is counted for the first page only, up to 10,000. */
export interface McpPage<T> {
  items: T[];
  total: number | null;
  nextCursor: string | null;
}

/** A device as lists show it. */
export interface McpDeviceSummary {
  id: string;
  siteId: string | null;
  hostname: string;
  displayName: string | null;
  osType: string;
  osVersion: string | null;
  architecture: string | null;
  deviceRole: string | null;
  agentVersion: string | null;
  status: string;
  lastSeenAt: string | null;
  enrolledAt: string | null;
  tags: string[];
  groupIds: string[];
}

export interface McpDevice extends McpDeviceSummary {
  customFields: Record<string, unknown>;
  hardware: Record<string, unknown> | null;
  metrics: Record<string, unknown> | null;
}

export interface McpSite {
  id: string;
  name: string;
  timezone: string;
  address: Record<string, unknown> | null;
  deviceCount: number;
  createdAt: string;
}

export interface McpScriptSummary {
  id: string;
  /** Null for a script of all organizations of the partner. */
  orgId: string | null;
  name: string;
  description: string | null;
  category: string | null;
  osTypes: string[];
  language: string;
  runAs: string;
  timeoutSeconds: number;
  tags: string[];
  version: number;
  updatedAt: string;
}

/** A script with a part of its content. */
export interface McpScript extends McpScriptSummary {
  parameters: object | null;
  content: string;
  contentLength: number;
  /** Offset of the next part; null at the end. */
  nextOffset: number | null;
}

/** An automation without trigger, conditions, actions and targets, which may contain what only users may see. */
export interface McpAutomation {
  id: string;
  /** Null for an automation of all organizations of the partner. */
  orgId: string | null;
  name: string;
  description: string | null;
  enabled: boolean;
  onFailure: string | null;
  updatedAt: string;
}

interface McpPostureCounts {
  totalDevices: number;
  neverScanned: number;
  stale: number;
  scannedNoneDetected: number;
  detectedDevices: number;
  freshDetectedDevices: number;
}

export interface McpPostureSummary {
  category: string;
  stalenessDays: number;
  totals: McpPostureCounts;
  /** On most devices first, at most 100. */
  products: { product: string; status: string; deviceCount: number; freshDeviceCount: number }[];
  truncated: boolean;
}

export const PROVISIONING_MCP_LIST_DEVICES = rpc('provisioning.mcp.list-devices', {
  request: z.object({
    caller,
    ...page,
    siteId: uuid.optional(),
    status: z.enum(MCP_DEVICE_STATUSES).optional(),
    osType: z.enum(MCP_OS_TYPES).optional(),
    search: text(255).optional(),
  }),
  reply: replyOf<McpPage<McpDeviceSummary>>(),
  timeoutMs: 5_000,
  idempotent: true,
});
export type McpListDevicesRequest = RpcRequest<typeof PROVISIONING_MCP_LIST_DEVICES>;

export const PROVISIONING_MCP_GET_DEVICE = rpc('provisioning.mcp.get-device', {
  request: z.object({ caller, deviceId: uuid }),
  reply: replyOf<McpDevice>(),
  idempotent: true,
});
export type McpGetDeviceRequest = RpcRequest<typeof PROVISIONING_MCP_GET_DEVICE>;

export const PROVISIONING_MCP_LIST_SITES = rpc('provisioning.mcp.list-sites', {
  request: z.object({ caller, ...page, search: text(255).optional() }),
  reply: replyOf<McpPage<McpSite>>(),
  timeoutMs: 5_000,
  idempotent: true,
});
export type McpListSitesRequest = RpcRequest<typeof PROVISIONING_MCP_LIST_SITES>;

export const PROVISIONING_MCP_LIST_SCRIPTS = rpc('provisioning.mcp.list-scripts', {
  request: z.object({
    caller,
    ...page,
    search: text(255).optional(),
    language: z.enum(MCP_SCRIPT_LANGUAGES).optional(),
    osType: z.enum(MCP_OS_TYPES).optional(),
  }),
  reply: replyOf<McpPage<McpScriptSummary>>(),
  timeoutMs: 5_000,
  idempotent: true,
});
export type McpListScriptsRequest = RpcRequest<typeof PROVISIONING_MCP_LIST_SCRIPTS>;

export const PROVISIONING_MCP_GET_SCRIPT = rpc('provisioning.mcp.get-script', {
  request: z.object({ caller, scriptId: uuid, offset: z.int().min(0).max(10_000_000) }),
  reply: replyOf<McpScript>(),
  idempotent: true,
});
export type McpGetScriptRequest = RpcRequest<typeof PROVISIONING_MCP_GET_SCRIPT>;

/** Lists the automations of an organization and of its partner; refused for keys restricted to sites or device groups. */
export const PROVISIONING_MCP_LIST_AUTOMATIONS = rpc('provisioning.mcp.list-automations', {
  request: z.object({ caller, ...page }),
  reply: replyOf<McpPage<McpAutomation>>(),
  timeoutMs: 5_000,
  idempotent: true,
});
export type McpListAutomationsRequest = RpcRequest<typeof PROVISIONING_MCP_LIST_AUTOMATIONS>;

export const PROVISIONING_MCP_POSTURE_SUMMARY = rpc('provisioning.mcp.posture-summary', {
  request: z.object({ caller, category: z.enum(MCP_POSTURE_CATEGORIES), stalenessDays: z.int().min(1).max(365) }),
  reply: replyOf<McpPostureSummary>(),
  timeoutMs: 5_000,
  idempotent: true,
});
export type McpPostureSummaryRequest = RpcRequest<typeof PROVISIONING_MCP_POSTURE_SUMMARY>;

/** Merges custom fields of a device; null removes a field. */
export const PROVISIONING_MCP_SET_CUSTOM_FIELDS = rpc('provisioning.mcp.set-custom-fields', {
  request: z.object({ caller, deviceId: uuid, customFields: z.record(z.string(), z.unknown()) }),
  reply: replyOf<{ customFields: Record<string, unknown> }>(),
  timeoutMs: 5_000,
  idempotent: true,
});
export type McpSetCustomFieldsRequest = RpcRequest<typeof PROVISIONING_MCP_SET_CUSTOM_FIELDS>;

/** Replaces the tags of a device. */
export const PROVISIONING_MCP_SET_TAGS = rpc('provisioning.mcp.set-tags', {
  request: z.object({ caller, deviceId: uuid, tags: z.array(text(50)).max(50) }),
  reply: replyOf<{ tags: string[] }>(),
  timeoutMs: 5_000,
  idempotent: true,
});
export type McpSetTagsRequest = RpcRequest<typeof PROVISIONING_MCP_SET_TAGS>;
