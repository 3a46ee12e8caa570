import type { ErasedCounts } from '@rmm/contracts';
import type { WorkerTransaction } from '@rmm/persistence';

/** An organization whose data is erased. */
export interface ErasedOrganization {
  orgId: string;
  partnerId: string;
}

/** Erases what one service stores of an organization. */
export interface OrganizationEraser {
  /**
   * Deletes up to a number of records of one kind, so that each transaction is short.
   * @returns the number of deleted records by kind; null when none was left
   */
  eraseBatch(tx: WorkerTransaction, organization: ErasedOrganization, limit: number): Promise<ErasedCounts | null>;
}

/** Injects the `OrganizationEraser` of the service. */
export const ORGANIZATION_ERASER = Symbol('ORGANIZATION_ERASER');

/** Injects the name of the service. */
export const ERASING_SERVICE = Symbol('ERASING_SERVICE');

/** Adds the numbers of a batch to those of the batches before. */
export function addCounts(erased: ErasedCounts, batch: ErasedCounts): ErasedCounts {
  const sum = { ...erased };
  for (const [kind, count] of Object.entries(batch)) if (count > 0) sum[kind] = (sum[kind] ?? 0) + count;
  return sum;
}
