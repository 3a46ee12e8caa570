import 'reflect-metadata';
import { runService } from '@rmm/service-kit';
import { readProvisioningConfig } from './config.js';
import { serviceOptions } from './service-options.js';

await runService(() => serviceOptions(readProvisioningConfig(process.env)));
