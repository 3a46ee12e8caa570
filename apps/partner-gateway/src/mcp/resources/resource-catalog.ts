import type { ApiKeyCaller } from '@rmm/access';
import { MCP_ALERTS_PAGE, MCP_MAX_PAGE } from '@rmm/contracts';
import type { Permission } from '@rmm/permissions';
import type { McpDataService } from '../data/mcp-data.service.js';

const JSON_TYPE = 'application/json';
const FIRST_PAGE = { cursor: null, limit: MCP_MAX_PAGE };

interface Described {
  name: string;
  title: string;
  description: string;
  mimeType: typeof JSON_TYPE;
}

export interface Resource {
  description: Described & { uri: string };
  /** The permission that the scopes of the key must imply. */
  permission: Permission;
  /** Shows data of the whole organization: hidden from keys that are restricted to sites or device groups. */
  isOrganizationWide: boolean;
  read: (data: McpDataService, caller: ApiKeyCaller) => Promise<object>;
}

/** The resources with a URI of their own, in the order in which they are listed. */
export const RESOURCES: readonly Resource[] = [
  {
    description: {
      uri: 'rmm://devices',
      name: 'devices',
      title: 'Devices',
      description: `The newest ${MCP_MAX_PAGE} devices; the tool list_devices returns the others.`,
      mimeType: JSON_TYPE,
    },
    permission: 'devices:read',
    isOrganizationWide: false,
    read: async (data, caller) => {
      const { items: devices, total } = await data.listDevices(caller, FIRST_PAGE);
      return { devices, total };
    },
  },
  {
    description: {
      uri: 'rmm://alerts',
      name: 'alerts',
      title: 'Alerts',
      description: 'The latest 100 alert events of the last seven days, newest first.',
      mimeType: JSON_TYPE,
    },
    permission: 'alerts:read',
    isOrganizationWide: true,
    read: async (data, caller) => ({ alerts: await listAllAlerts(data, caller) }),
  },
  {
    description: {
      uri: 'rmm://scripts',
      name: 'scripts',
      title: 'Scripts',
      description: `The newest ${MCP_MAX_PAGE} scripts without their contents; the tool list_scripts returns the others.`,
      mimeType: JSON_TYPE,
    },
    permission: 'scripts:read',
    isOrganizationWide: false,
    read: async (data, caller) => {
      const { items: scripts, total } = await data.listScripts(caller, FIRST_PAGE);
      return { scripts, total };
    },
  },
  {
    description: {
      uri: 'rmm://automations',
      name: 'automations',
      title: 'Automations',
      description: `The ${MCP_MAX_PAGE} automations that changed last; the tool list_automations returns the others.`,
      mimeType: JSON_TYPE,
    },
    permission: 'automations:read',
    isOrganizationWide: true,
    read: async (data, caller) => {
      const { items: automations, total } = await data.listAutomations(caller, FIRST_PAGE);
      return { automations, total };
    },
  },
];

/** A single device; `{id}` is its UUID. */
export const DEVICE_TEMPLATE = {
  description: {
    uriTemplate: 'rmm://devices/{id}',
    name: 'device',
    title: 'Device',
    description: 'A device with its custom fields, hardware and latest metrics.',
    mimeType: JSON_TYPE,
  },
  permission: 'devices:read',
} as const;

const DEVICE_URI = /^rmm:\/\/devices\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** Returns the id in the URI of a single device, or null. */
export const deviceIdOf = (uri: string): string | null => DEVICE_URI.exec(uri)?.[1] ?? null;

async function listAllAlerts(data: McpDataService, caller: ApiKeyCaller): Promise<object[]> {
  const alerts: object[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<McpDataService['listAlerts']>> = await data.listAlerts(caller, {
      cursor,
      limit: MCP_ALERTS_PAGE,
    });
    alerts.push(...page.alerts);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return alerts;
}
