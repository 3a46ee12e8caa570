export { tryLock, tryLockSql } from './database/advisory-lock.js';
export * from './database/database.errors.js';
export { DatabaseSession } from './database/database-session.js';
export { bindParameters } from './database/named-parameters.js';
export { DEFAULT_TIMEOUTS, type Timeouts } from './database/pool-options.js';
export type { BatchExecutor, SqlExecutor, SqlParams, SqlStatement } from './database/sql-executor.js';
export * from './idempotency/idempotency.errors.js';
export { IdempotencyModule } from './idempotency/idempotency.module.js';
export type { IdempotencyOptions } from './idempotency/idempotency.options.js';
export { type ResponseSeal, Idempotency, IDEMPOTENCY_LIMITS } from './idempotency/idempotency.service.js';
export { PurgeIdempotencyRecordsJob } from './idempotency/purge-idempotency-records.job.js';
export { migrateFromEnvironment } from './migrations/migrate-from-environment.js';
export * from './migrations/migrations-runner.service.js';
export {
  Databases,
  type PersistenceConfig,
  type PersistenceOptions,
  StartRefused,
} from './module/databases.service.js';
export { PersistenceModule } from './module/persistence.module.js';
export { limitBytes, PAGE_BYTES, takeBudgetColumns, type ByteBudget } from './paging/byte-budget.js';
export * from './paging/cursor.errors.js';
export * from './paging/cursors.js';
export * from './paging/keyset-page.js';
export {
  cappedTotal,
  countMatching,
  listPage,
  MAX_TOTAL,
  type PageListQuery,
  type PageRequest,
  type PageRows,
} from './paging/list-page.js';
export { MAX_UUID, NIL_UUID } from './paging/uuid-range.js';
export { MaintainPartitionsJob } from './partitions/maintain-partitions.job.js';
export { restrictToOrganization, type HasTenant, type TenantContext } from './tenants/tenant-context.js';
export { tenantCondition, type RowOwnership } from './tenants/tenant-condition.js';
export { TenantDatabase, TenantTransaction } from './tenants/tenant-database.service.js';
export * from './tenants/tenant.repository.js';
export { WorkerDatabase, WorkerTransaction } from './worker/worker-database.service.js';
