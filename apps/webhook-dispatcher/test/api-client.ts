import type { INestApplication } from '@nestjs/common';
import request, { type Test } from 'supertest';

export type Verb = 'get' | 'post' | 'patch' | 'delete';

/** Sends requests as one caller; paths begin after `/api/v1/webhooks`, or another prefix. */
export type ApiClient = Record<Verb, (path: string, body?: object) => Test>;

/** @param token  the value of the `Authorization` header; requests are anonymous without one */
export function createApiClient(app: INestApplication, token?: string, prefix = 'webhooks'): ApiClient {
  const send = (verb: Verb) => (path: string, body?: object) => {
    const sent = request(app.getHttpServer())[verb](`/api/v1/${prefix}${path}`);
    if (token !== undefined) void sent.set('Authorization', token);
    return body === undefined ? sent : sent.send(body);
  };
  return { get: send('get'), post: send('post'), patch: send('patch'), delete: send('delete') };
}
