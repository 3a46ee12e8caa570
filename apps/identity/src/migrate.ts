import { migrateFromEnvironment } from '@rmm/persistence';
import { MIGRATIONS } from './migrations/index.js';

await migrateFromEnvironment('identity', MIGRATIONS);
