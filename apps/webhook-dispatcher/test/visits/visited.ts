import type { INestApplication } from '@nestjs/common';
import type { RecordedCall } from '@rmm/testing/openapi';
import request, { type Response } from 'supertest';
import type { DispatcherWorld, Organization } from '../dispatcher.js';
import type { DispatcherOverHttp } from '../dispatcher-over-http.js';
import type { Receiver } from '../receiver.js';

type Method = 'get' | 'post' | 'patch' | 'delete';

/** What a visit has at hand: somebody who may, and every call written down. */
export class Visited {
  readonly calls: RecordedCall[] = [];

  readonly world: DispatcherWorld;
  readonly receiver: Receiver;
  private readonly app: INestApplication;
  private readonly partner: string;
  private readonly operator: string;

  constructor(
    { world, receiver, app, signedIn }: DispatcherOverHttp,
    readonly organization: Organization,
  ) {
    this.world = world;
    this.receiver = receiver;
    this.app = app;
    this.partner = signedIn.partner(organization.partnerId);
    this.operator = signedIn.operator();
  }

  readonly get = (path: string) => this.call('get', path);
  readonly post = (path: string, body?: object) => this.call('post', path, body);
  readonly patch = (path: string, body: object) => this.call('patch', path, body);
  readonly delete = (path: string) => this.call('delete', path);
  /** As an operator of the platform. */
  readonly getAsSystem = (path: string) => this.call('get', path, undefined, this.operator);

  /** One that is refused is an error: visits are made of calls that succeed. */
  private async call(method: Method, path: string, body?: object, token = this.partner): Promise<Response> {
    const sent = request(this.app.getHttpServer())[method](`/api/v1${path}`).set('Authorization', token);
    const answer = await (body === undefined ? sent : sent.send(body));
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    this.calls.push({
      method,
      path,
      credential: 'bearer',
      request: body,
      status: answer.status,
      headers: answer.headers,
      body: answer.body,
    });
    return answer;
  }
}
