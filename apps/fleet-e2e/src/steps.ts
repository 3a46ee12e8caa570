import { eventually, type ApiClient, type ApiResponse, type FleetHandle } from '@rmm/testing';

/** Returns the body of a response. @throws Error  with status and body when the status is another one */
export function must(response: ApiResponse, status: number): ApiResponse['body'] {
  if (response.status !== status)
    throw new Error(`${response.status} instead of ${status}: ${JSON.stringify(response.body)}`);
  return response.body;
}

/**
 * Reads all records of a list by its cursor.
 * @param path  of the list, with its query
 */
export async function readAll<T>(client: ApiClient, path: string): Promise<T[]> {
  const records: T[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { data, pagination } = must(await client.get(`${path}&cursor=${encodeURIComponent(cursor)}`), 200);
    records.push(...(data as T[]));
    cursor = pagination.nextCursor as string | null;
  }
  return records;
}

/** Returns the names of the resources of all audit entries with that action, newest first. */
export async function auditedNames(client: ApiClient, action: string): Promise<string[]> {
  const entries = await readAll<{ resourceName: string | null }>(client, `/audit-logs?action=${action}&limit=100`);
  return entries.map(({ resourceName }) => resourceName ?? '');
}

/** Creates an enrollment key of an organization. */
export async function enrollmentKey(client: ApiClient, orgId: string, more: object = {}): Promise<string> {
  const body = must(await client.post('/enrollment-keys', { orgId, name: 'Roll-out', ...more }), 201);
  return body.key as string;
}

export async function createWebhook(client: ApiClient, orgId: string, more: object): Promise<{ id: string }> {
  const body = { orgId, name: 'Ticket system', events: ['device.enrolled'], ...more };
  return must(await client.post('/webhooks', body), 201) as { id: string };
}

/** Waits until the webhook has a delivery with that status. @returns its deliveries, newest first */
export const deliveriesOf = (
  client: ApiClient,
  webhookId: string,
  status: string,
): Promise<Record<string, unknown>[]> =>
  eventually(async () => {
    const page = must(await client.get(`/webhooks/${webhookId}/deliveries?status=${status}`), 200);
    if (!page.data.length) throw new Error(`no delivery is ${status} yet`);
    return page.data as Record<string, unknown>[];
  });

/** Reads a metric without labels of its own of one process. @throws Error when the process has none of that name */
export async function readMetric(port: number | undefined, name: string): Promise<number> {
  const [value] = await listMetric(port, name);
  if (value === undefined) throw new Error(`no metric ${name} on port ${port}`);
  return value;
}

/** Adds up a metric over its labels and the replicas of a service; 0 while none has it. */
export async function sumMetric({ services }: FleetHandle, service: string, name: string): Promise<number> {
  const replicas = services.find((each) => each.name === service)?.instances ?? [];
  const values = await Promise.all(replicas.map(({ port }) => listMetric(port, name)));
  return values.flat().reduce((sum, value) => sum + value, 0);
}

/** Lists the values of a metric of one process, one for each set of labels. */
async function listMetric(port: number | undefined, name: string): Promise<number[]> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].map(([, value]) => Number(value));
}
