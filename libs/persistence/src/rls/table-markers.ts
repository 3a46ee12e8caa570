/**
 * The comment a table carries instead of tenant policies, so that the catalog itself says why it has none.
 * worker-only: rows of no tenant's concern or of all tenants', seen by the worker login; the service may at most insert.
 * global: the same for every tenant (reference data); the service may read it.
 */
export const WORKER_ONLY = 'rmm:worker-only';
export const GLOBAL = 'rmm:global';

/** The comment of a SECURITY DEFINER function that the worker login may call. @see workerFunction */
export const WORKER_FUNCTION = 'rmm:worker-function';
