import type { Response } from 'supertest';
import type { RecordedCall } from '@rmm/testing/openapi';
import type { CredentialsTestApp } from './credentials-test-app.js';

type Client = ReturnType<CredentialsTestApp['client']>;
type Method = 'get' | 'post' | 'patch' | 'delete';

/** Records every call; a call that fails is an error, since examples are calls that succeed. */
export function recordCalls(client: Client, calls: RecordedCall[]): Client {
  const recorded = (method: Method) => async (path: string, request?: object | string) => {
    const { status, headers, body, text }: Response = await client[method](path, request ?? {});
    if (status >= 400) throw new Error(`${method} ${path}: ${status} ${text}`);
    const credential = client.token ? 'bearer' : undefined;
    calls.push({ method, path, credential, request, status, headers: headers, body });
    return { status, headers, body, text };
  };
  const methods = {
    get: recorded('get'),
    post: recorded('post'),
    patch: recorded('patch'),
    delete: recorded('delete'),
  };
  return { ...client, ...methods } as unknown as Client;
}
