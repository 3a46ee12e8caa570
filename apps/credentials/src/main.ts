import 'reflect-metadata';
import { runService } from '@rmm/service-kit';
import { readCredentialsConfig } from './config.js';
import { serviceOptions } from './service-options.js';

await runService(() => serviceOptions(readCredentialsConfig(process.env)));
