import { JetStreamServer } from '@rmm/messaging';
import type { ServiceOptions } from '@rmm/service-kit';
import { type ProvisioningConfig, readProvisioningConfig } from './config.js';
import { DEV_PUSH_BODY } from './dev-push/dto/dev-push-form.dto.js';

const IMPORT_LIMIT_BYTES = 8 * 1024 * 1024;

/** The options of the provisioning service, for `main.ts` and for specs that start it. */
export const serviceOptions: ServiceOptions<ProvisioningConfig> = {
  service: 'provisioning',
  readConfig: readProvisioningConfig,
  openApi: {
    title: 'Provisioning',
    description: 'Organizations, sites, devices and their agents; imports; records for export.',
  },
  bodyLimits: [{ path: '/orgs/import', limitBytes: IMPORT_LIMIT_BYTES, read: 'json-later' }, DEV_PUSH_BODY],
  microservices: (app) => void app.connectMicroservice({ strategy: app.get(JetStreamServer) }),
};
