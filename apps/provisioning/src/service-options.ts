import { JetStreamServer } from '@rmm/messaging';
import type { ServiceOptions } from '@rmm/service-kit';
import { REPORT_BODIES } from './agents/reports/reports.controller.js';
import { type ProvisioningConfig, readProvisioningConfig } from './config.js';
import { DEV_PUSH_BODY, DEV_PUSH_TIMEOUT } from './dev-push/dto/dev-push-form.dto.js';
import { IMPORT_UPLOAD_BODY, IMPORT_UPLOAD_TIMEOUT } from './import-runs/dto/import-upload.dto.js';
import { PSA_LIMITS } from './psa/psa.limits.js';

const IMPORT_LIMIT_BYTES = 8 * 1024 * 1024;
const BUNDLE_LIMIT_BYTES = 20 * 1024 * 1024;
/** Time for what a request does besides calling a PSA. */
const RESPONSE_MS = 10_000;

/** The options of the provisioning service, for `main.ts` and for specs that start it. */
export const serviceOptions: ServiceOptions<ProvisioningConfig> = {
  service: 'provisioning',
  readConfig: readProvisioningConfig,
  openApi: {
    title: 'Provisioning',
    description: 'Organizations, sites, devices and their agents; imports; records for export.',
    tags: [
      { name: 'Agents', description: 'What agents call: enrollment, heartbeats, reports and downloads' },
      { name: 'Contacts', description: 'Contacts of an organization' },
      { name: 'Development', description: 'Pushes of agent builds to test devices' },
      { name: 'Device groups', description: 'Groups of devices of an organization' },
      { name: 'Devices', description: 'Devices, their custom fields, reports and duplicates' },
      { name: 'Import', description: 'Imports of organizations, sites and contacts' },
      { name: 'Organizations', description: 'Organizations of a partner' },
      { name: 'PSA', description: 'Connections to PSA systems, imports and syncs' },
      { name: 'Scripts', description: 'Scripts, their versions, bundles and the built-in library' },
      { name: 'Sites', description: 'Sites of an organization' },
    ],
  },
  bodyLimits: [
    { path: '/orgs/import', limitBytes: IMPORT_LIMIT_BYTES, read: 'json-later' },
    { path: '/orgs/contacts/import', limitBytes: IMPORT_LIMIT_BYTES, read: 'json-later' },
    { path: '/psa/connections/:id/import', limitBytes: IMPORT_LIMIT_BYTES, read: 'json-later' },
    { path: '/scripts/bundle', limitBytes: BUNDLE_LIMIT_BYTES, read: 'json-later' },
    IMPORT_UPLOAD_BODY,
    DEV_PUSH_BODY,
    ...REPORT_BODIES,
  ],
  timeouts: [
    IMPORT_UPLOAD_TIMEOUT,
    DEV_PUSH_TIMEOUT,
    { path: '/psa/connections/:id/import/preview', timeoutMs: PSA_LIMITS.listingMs + RESPONSE_MS },
    { path: '/psa/connections/:id/test', timeoutMs: PSA_LIMITS.testMs + RESPONSE_MS },
  ],
  microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
};
