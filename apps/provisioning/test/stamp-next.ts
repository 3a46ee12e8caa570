import type { RestampRepository } from '../src/export/restamp.repository.js';

/** Stamps records of the oldest request. @returns false when there is none */
export async function stampNext(restamps: RestampRepository, limit: number): Promise<boolean> {
  const [id] = await restamps.listRequests(1);
  if (id === undefined) return false;
  await restamps.stampRecords(id, limit);
  return true;
}
