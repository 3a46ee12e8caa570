import 'reflect-metadata';
import { runService } from '@rmm/service-kit';
import { readIdentityConfig } from './config.js';
import { serviceOptions } from './service-options.js';

await runService(() => serviceOptions(readIdentityConfig(process.env)));
