import { randomUUID } from 'node:crypto';
import type { McpAutomation, McpDevice, McpScript, McpSite } from '@rmm/contracts';
import type { McpDataService } from '../src/mcp/data/mcp-data.service.js';

export const DEVICE: McpDevice = {
  id: randomUUID(),
  siteId: null,
  hostname: 'till-1',
  displayName: null,
  osType: 'linux',
  osVersion: '12',
  architecture: 'amd64',
  deviceRole: null,
  agentVersion: '1.0.0',
  status: 'online',
  lastSeenAt: '2026-01-01T00:00:00.000Z',
  enrolledAt: '2026-01-01T00:00:00.000Z',
  tags: ['till'],
  groupIds: [],
  customFields: { rack: 'A1' },
  hardware: { cpuModel: 'x' },
  metrics: null,
};

export const SITE: McpSite = {
  id: randomUUID(),
  name: 'Main Office',
  timezone: 'UTC',
  address: null,
  deviceCount: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
};

export const SCRIPT: McpScript = {
  id: randomUUID(),
  orgId: null,
  name: 'Disk space',
  description: null,
  category: null,
  osTypes: ['linux'],
  language: 'bash',
  runAs: 'system',
  timeoutSeconds: 300,
  tags: [],
  version: 1,
  updatedAt: '2026-01-01T00:00:00.000Z',
  parameters: [{ name: 'path' }],
  content: 'df -h',
  contentLength: 5,
  nextOffset: null,
};

export const AUTOMATION: McpAutomation = {
  id: randomUUID(),
  orgId: null,
  name: 'Clean up',
  description: null,
  enabled: true,
  onFailure: 'stop',
  updatedAt: '2026-01-01T00:00:00.000Z',
};

const COUNTS = {
  ...{ totalDevices: 1, neverScanned: 1, stale: 0 },
  ...{ scannedNoneDetected: 0, detectedDevices: 0, freshDetectedDevices: 0 },
};

export const ALERT = {
  id: randomUUID(),
  type: 'alert.triggered',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { severity: 'high' },
  truncated: false,
};

type Fake = { [Method in keyof McpDataService]: jest.Mock<ReturnType<McpDataService[Method]>, unknown[]> };

/** Data of the services that own it, with a field in each record that no schema names. */
export function fakeMcpData(): Fake {
  const extra = { agentTokenHash: 'never shown' };
  const page = { total: 1, nextCursor: null };
  return {
    listDevices: jest.fn().mockResolvedValue({ items: [{ ...DEVICE, ...extra }], ...page }),
    getDevice: jest.fn().mockResolvedValue({ ...DEVICE, ...extra }),
    listSites: jest.fn().mockResolvedValue({ items: [{ ...SITE, ...extra }], ...page }),
    listScripts: jest.fn().mockResolvedValue({ items: [{ ...SCRIPT, ...extra }], ...page }),
    getScript: jest.fn().mockResolvedValue({ ...SCRIPT, ...extra }),
    listAutomations: jest.fn().mockResolvedValue({ items: [{ ...AUTOMATION, ...extra }], ...page }),
    summarizePosture: jest.fn().mockResolvedValue({
      category: 'rmm',
      stalenessDays: 7,
      totals: COUNTS,
      products: [],
      truncated: false,
      ...extra,
    }),
    listAlerts: jest.fn().mockResolvedValue({ alerts: [{ ...ALERT, ...extra }], nextCursor: null }),
    setCustomFields: jest.fn().mockResolvedValue({ customFields: { rack: 'B2' }, ...extra }),
    setTags: jest.fn().mockResolvedValue({ tags: ['a'], ...extra }),
  };
}
