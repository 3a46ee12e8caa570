import type { INestApplication } from '@nestjs/common';
import request, { type Test } from 'supertest';

export type Verb = 'get' | 'post' | 'patch' | 'delete';

/** Somebody who calls; paths begin behind `/api/v1/webhooks`. */
export type Client = Record<Verb, (path: string, body?: object) => Test>;

/** @param token  the value of the header `Authorization`; without one nobody is signed in */
export function clientOf(app: INestApplication, token?: string): Client {
  const sending = (verb: Verb) => (path: string, body?: object) => {
    const sent = request(app.getHttpServer())[verb](`/api/v1/webhooks${path}`);
    if (token !== undefined) void sent.set('Authorization', token);
    return body === undefined ? sent : sent.send(body);
  };
  return { get: sending('get'), post: sending('post'), patch: sending('patch'), delete: sending('delete') };
}
