/**
 * Planner settings of the worker's connections. Its statements look rows up by key and are planned once per connection,
 * often while the partition of the day is empty; without these settings they would scan it later.
 */
export const INDEX_SCANS_ONLY = { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' };
