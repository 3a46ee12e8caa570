import { eventually, type ApiResponse, type ApiClient } from '@rmm/testing';

/** The answer's body when the status fits; else an error that shows both. */
export function must(answer: ApiResponse, status: number): ApiResponse['body'] {
  if (answer.status !== status)
    throw new Error(`${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A fresh enrollment key of an organization. */
export async function enrollmentKey(client: ApiClient, orgId: string, more: object = {}): Promise<string> {
  const body = must(await client.post('/enrollment-keys', { orgId, name: 'Roll-out', ...more }), 201);
  return body.key as string;
}

export async function makeWebhook(client: ApiClient, orgId: string, more: object): Promise<{ id: string }> {
  const body = { orgId, name: 'Ticket system', events: ['device.enrolled'], ...more };
  return must(await client.post('/webhooks', body), 201) as { id: string };
}

/** Waits until the history holds a delivery of that status; newest first. */
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
