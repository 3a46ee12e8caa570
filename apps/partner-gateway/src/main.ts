import 'reflect-metadata';
import { runService } from '@rmm/service-kit';
import { readPartnerGatewayConfig } from './config.js';
import { serviceOptions } from './service-options.js';

await runService(() => serviceOptions(readPartnerGatewayConfig(process.env)));
