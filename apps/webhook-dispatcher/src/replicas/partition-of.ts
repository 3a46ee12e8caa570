import { hash } from 'node:crypto';

/** The number of rows in `delivery_partition`. */
export const PARTITIONS = 1_024;

/** Returns the partition of an organization, 0 to 1,023. One replica sends all deliveries of a partition. */
export const partitionOf = (orgId: string): number => parseInt(hash('sha1', orgId, 'hex').slice(0, 8), 16) % PARTITIONS;
