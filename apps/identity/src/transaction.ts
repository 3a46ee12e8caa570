import type { TenantTransaction, WorkerTransaction } from '@rmm/persistence';

/** A transaction of a caller, or one of the worker login. */
export type Transaction = TenantTransaction | WorkerTransaction;
