import type { TenantTransaction } from '@rmm/persistence';
import { DomainError } from '@rmm/service-kit';

interface HalvingOptions<Item> {
  write: (items: readonly Item[]) => Promise<void>;
  /** Returns what the item becomes when it cannot be written, even alone. */
  refuse: (item: Item, error: unknown) => Promise<Item>;
  onFailure: (items: readonly Item[], error: unknown) => void;
}

/**
 * Writes all items of an import together. When that fails, each half is written by itself and halved again, until the items
 * that cannot be written are alone: one of them costs about twenty attempts among a thousand items, not a thousand.
 * @returns the items, those that cannot be written as `refuse` returns them
 * @throws DomainError  when a write throws one: it is meant for the caller
 */
export async function writeInHalves<Item>(
  tx: TenantTransaction,
  items: readonly Item[],
  options: HalvingOptions<Item>,
): Promise<Item[]> {
  try {
    await tx.savepoint(() => options.write(items));
    return [...items];
  } catch (error) {
    if (error instanceof DomainError) throw error;
    const [only] = items;
    if (items.length === 1 && only !== undefined) return [await options.refuse(only, error)];
    options.onFailure(items, error);
  }
  const middle = items.length >> 1;
  const first = await writeInHalves(tx, items.slice(0, middle), options);
  return [...first, ...(await writeInHalves(tx, items.slice(middle), options))];
}
