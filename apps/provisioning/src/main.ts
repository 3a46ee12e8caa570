import 'reflect-metadata';
import { startService } from '@rmm/service-kit';
import { readProvisioningConfig } from './config.js';
import { serviceOptions } from './service-options.js';

await startService(serviceOptions(readProvisioningConfig(process.env)));
