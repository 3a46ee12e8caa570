export { noLongerPartitioned, partitionedByTime, type TimePartitions } from '../partitions/partitioned-by-time.js';
export { tenantTable, type TenantTableOptions } from '../rls/tenant-table.js';
export { workerFunction } from '../rls/worker-function.js';
export { countVisibleRows } from './count-visible-rows.js';
export { migratedBy } from './migrated-by.js';
export { rowSecurityProblems } from './row-security-problems.js';
export { tablesOfOrganizations } from './tables-of-organizations.js';
export { untiedTenantTables } from './untied-tenant-tables.js';
export { StatementPlans, type ExplainedStatement } from './statement-plans.js';
