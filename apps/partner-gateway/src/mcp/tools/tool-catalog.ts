import { z } from 'zod';
import {
  MCP_ALERTS_PAGE,
  MCP_CONTENT_SLICE,
  MCP_DEVICE_STATUSES,
  MCP_MAX_ALERTS,
  MCP_MAX_PAGE,
  MCP_OS_TYPES,
  MCP_POSTURE_CATEGORIES,
  MCP_SCRIPT_LANGUAGES,
} from '@rmm/contracts';
import { isStorableText } from '@rmm/validation';
import { declareTool, type Tool } from './tool.js';

const DEFAULT_PAGE = 20;
const MAX_TAGS = 50;
const MAX_FIELDS = 200;

const text = (max: number) =>
  z.string().min(1).max(max).refine(isStorableText, 'must not contain NUL or half of a surrogate pair');
const id = (what: string) => z.guid('must be a UUID').describe(`Id of the ${what}`);
const search = (what: string) => text(255).describe(`Part of the ${what}`).optional();
const paging = (max = MCP_MAX_PAGE) => ({
  limit: z.int().min(1).max(max).default(Math.min(DEFAULT_PAGE, max)).describe('Records per page'),
  cursor: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe('`nextCursor` of the page before, with the same filters; absent for the first page'),
});
const nextCursor = z.string().nullable().describe('Requests the next page; null on the last page');
const total = z.int().nullable().describe('On the first page: how many there are, at most 10,000');
const object = z.record(z.string(), z.unknown());
const nullableText = z.string().nullable();

const deviceSummary = z.object({
  id: z.string(),
  siteId: nullableText,
  hostname: z.string(),
  displayName: nullableText,
  osType: z.string(),
  osVersion: nullableText,
  architecture: nullableText,
  deviceRole: nullableText,
  agentVersion: nullableText,
  status: z.string(),
  lastSeenAt: nullableText,
  enrolledAt: nullableText,
  tags: z.array(z.string()),
  groupIds: z.array(z.string()),
});
const device = deviceSummary.extend({
  customFields: object,
  hardware: object.nullable(),
  metrics: object.nullable(),
});
const site = z.object({
  id: z.string(),
  name: z.string(),
  timezone: z.string(),
  address: object.nullable(),
  deviceCount: z.int().describe('Without decommissioned devices'),
  createdAt: z.string(),
});
const scriptSummary = z.object({
  id: z.string(),
  orgId: nullableText.describe('Null for a script of all organizations of the partner'),
  name: z.string(),
  description: nullableText,
  category: nullableText,
  osTypes: z.array(z.string()),
  language: z.string(),
  runAs: z.string(),
  timeoutSeconds: z.int(),
  tags: z.array(z.string()),
  version: z.int(),
  updatedAt: z.string(),
});
const script = scriptSummary.extend({
  parameters: z.union([object, z.array(z.unknown())]).nullable(),
  content: z.string().describe(`At most ${MCP_CONTENT_SLICE} characters, from \`contentOffset\` on`),
  contentLength: z.int(),
  nextOffset: z.int().nullable().describe('`contentOffset` of the next part; null at the end'),
});
const automation = z.object({
  id: z.string(),
  orgId: nullableText.describe('Null for an automation of all organizations of the partner'),
  name: z.string(),
  description: nullableText,
  enabled: z.boolean(),
  onFailure: nullableText.describe('What a failure does: stop, continue or notify'),
  updatedAt: z.string(),
});
const alert = z.object({
  id: z.string(),
  type: z.string(),
  timestamp: z.string(),
  data: object.nullable().describe('Null when it is larger than 16 KB'),
  truncated: z.boolean(),
});
const counts = z.object({
  totalDevices: z.int(),
  neverScanned: z.int().describe('Devices that never reported: unknown, not clean'),
  stale: z.int(),
  scannedNoneDetected: z.int(),
  detectedDevices: z.int(),
  freshDetectedDevices: z.int(),
});

/** The tools, in the order in which they are listed. The organization is that of the key: no tool takes one. */
export const TOOLS: readonly Tool[] = [
  declareTool({
    name: 'list_devices',
    title: 'List devices',
    description: 'Lists the devices of the organization, newest first, without custom fields, hardware and metrics.',
    tier: 1,
    input: z.strictObject({
      ...paging(),
      siteId: id('site').optional(),
      status: z.enum(MCP_DEVICE_STATUSES).optional(),
      osType: z.enum(MCP_OS_TYPES).optional(),
      search: search('hostname or display name'),
    }),
    output: z.object({ devices: z.array(deviceSummary), total, nextCursor }),
    run: async (data, caller, { cursor = null, ...query }) => {
      const { items: devices, ...page } = await data.listDevices(caller, { cursor, ...query });
      return { devices, ...page };
    },
  }),
  declareTool({
    name: 'get_device',
    title: 'Get a device',
    description: 'Returns a device with its custom fields, hardware and latest metrics.',
    tier: 1,
    input: z.strictObject({ deviceId: id('device') }),
    output: z.object({ device }),
    run: async (data, caller, { deviceId }) => ({ device: await data.getDevice(caller, deviceId) }),
  }),
  declareTool({
    name: 'list_sites',
    title: 'List sites',
    description: 'Lists the sites of the organization, newest first, with their numbers of devices.',
    tier: 1,
    input: z.strictObject({ ...paging(), search: search('name') }),
    output: z.object({ sites: z.array(site), total, nextCursor }),
    run: async (data, caller, { cursor = null, ...query }) => {
      const { items: sites, ...page } = await data.listSites(caller, { cursor, ...query });
      return { sites, ...page };
    },
  }),
  declareTool({
    name: 'list_scripts',
    title: 'List scripts',
    description: 'Lists the scripts that the organization can use, newest first, without their contents.',
    tier: 1,
    input: z.strictObject({
      ...paging(),
      search: search('name'),
      language: z.enum(MCP_SCRIPT_LANGUAGES).optional(),
      osType: z.enum(MCP_OS_TYPES).optional(),
    }),
    output: z.object({ scripts: z.array(scriptSummary), total, nextCursor }),
    run: async (data, caller, { cursor = null, ...query }) => {
      const { items: scripts, ...page } = await data.listScripts(caller, { cursor, ...query });
      return { scripts, ...page };
    },
  }),
  declareTool({
    name: 'get_script',
    title: 'Get a script',
    description: 'Returns a script with a part of its content.',
    tier: 1,
    input: z.strictObject({
      scriptId: id('script'),
      contentOffset: z.int().min(0).max(10_000_000).default(0).describe('First character of the content to return'),
    }),
    output: z.object({ script }),
    run: async (data, caller, { scriptId, contentOffset }) => {
      const { parameters, ...found } = await data.getScript(caller, scriptId, contentOffset);
      return { script: { ...found, parameters: parameters as z.input<typeof script>['parameters'] } };
    },
  }),
  declareTool({
    name: 'list_automations',
    title: 'List automations',
    description:
      'Lists the automations of the organization and its partner, latest change first, without their actions.',
    tier: 1,
    isOrganizationWide: true,
    input: z.strictObject(paging()),
    output: z.object({ automations: z.array(automation), total, nextCursor }),
    run: async (data, caller, { cursor = null, limit }) => {
      const { items: automations, ...page } = await data.listAutomations(caller, { cursor, limit });
      return { automations, ...page };
    },
  }),
  declareTool({
    name: 'list_alerts',
    title: 'List alerts',
    description: `Lists the latest alert events of the organization, at most ${MCP_MAX_ALERTS} of the last seven days, newest first.`,
    tier: 1,
    isOrganizationWide: true,
    input: z.strictObject(paging(MCP_ALERTS_PAGE)),
    output: z.object({ alerts: z.array(alert), nextCursor }),
    run: (data, caller, { cursor = null, limit }) => data.listAlerts(caller, { cursor, limit }),
  }),
  declareTool({
    name: 'get_posture_summary',
    title: 'Summarize management posture',
    description: 'Counts the devices on which management tools of a category were found, and those never scanned.',
    tier: 1,
    input: z.strictObject({
      category: z.enum(MCP_POSTURE_CATEGORIES).default('rmm'),
      stalenessDays: z.int().min(1).max(365).default(7).describe('Days after which a scan is stale'),
    }),
    output: z.object({
      category: z.string(),
      stalenessDays: z.int(),
      totals: counts,
      products: z
        .array(z.object({ product: z.string(), status: z.string(), deviceCount: z.int(), freshDeviceCount: z.int() }))
        .describe('On most devices first, at most 100'),
      truncated: z.boolean(),
    }),
    run: (data, caller, query) => data.summarizePosture(caller, query),
  }),
  declareTool({
    name: 'set_device_custom_fields',
    title: 'Set custom fields of a device',
    description:
      'Sets the given custom fields of a device; null removes a field, other fields stay. Returns all fields.',
    tier: 2,
    input: z.strictObject({
      deviceId: id('device'),
      customFields: z
        .record(z.string().min(1).max(100), z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()]))
        .refine((fields) => Object.keys(fields).length > 0, 'names no field to change')
        .refine((fields) => Object.keys(fields).length <= MAX_FIELDS, `must have at most ${MAX_FIELDS} fields`),
    }),
    output: z.object({ customFields: object }),
    run: (data, caller, { deviceId, customFields }) => data.setCustomFields(caller, deviceId, customFields),
  }),
  declareTool({
    name: 'set_device_tags',
    title: 'Set the tags of a device',
    description: 'Replaces the tags of a device; an empty list removes all.',
    tier: 2,
    input: z.strictObject({ deviceId: id('device'), tags: z.array(text(50)).max(MAX_TAGS) }),
    output: z.object({ tags: z.array(z.string()) }),
    run: (data, caller, { deviceId, tags }) => data.setTags(caller, deviceId, tags),
  }),
  declareTool({
    name: 'run_script',
    title: 'Run a script on a device',
    description:
      'Never runs a script: a user has to run it in the console. Each call is refused with `approval_required`.',
    tier: 3,
    input: z.strictObject({
      deviceId: id('device'),
      scriptId: id('script'),
      parameters: object.optional(),
    }),
    output: z.object({}),
    run: () => Promise.reject(new Error('run_script is refused before it is called')),
  }),
];
