import 'reflect-metadata';
import { startService } from '@rmm/service-kit';
import { readIdentityConfig } from './config.js';
import { serviceOptions } from './service-options.js';

try {
  await startService(serviceOptions(readIdentityConfig(process.env)));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
