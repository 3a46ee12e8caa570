import type { INestApplication } from '@nestjs/common';
import request, { type Response } from 'supertest';
import type { RecordedCall } from '@rmm/testing/openapi';
import type { DispatcherTestApp } from '../dispatcher-test-app.js';
import type { DispatcherTestCluster, Organization } from '../dispatcher-test-cluster.js';
import type { FakeReceiver } from '../fake-receiver.js';

type Method = 'get' | 'post' | 'patch' | 'delete';

/** Sends requests with every permission needed and records each call as an API example. */
export class RecordedClient {
  readonly calls: RecordedCall[] = [];

  readonly cluster: DispatcherTestCluster;
  readonly receiver: FakeReceiver;
  private readonly app: INestApplication;
  private readonly partner: string;
  private readonly operator: string;

  constructor(
    { cluster, receiver, app, identity }: DispatcherTestApp,
    readonly organization: Organization,
  ) {
    this.cluster = cluster;
    this.receiver = receiver;
    this.app = app;
    this.partner = identity.partner(organization.partnerId);
    this.operator = identity.operator();
  }

  readonly get = (path: string) => this.call('get', path);
  readonly post = (path: string, body?: object) => this.call('post', path, body);
  readonly patch = (path: string, body: object) => this.call('patch', path, body);
  readonly delete = (path: string) => this.call('delete', path);
  readonly getAsSystem = (path: string) => this.call('get', path, undefined, this.operator);

  /** @throws when the response is an error, since examples show calls that succeed */
  private async call(method: Method, path: string, body?: object, token = this.partner): Promise<Response> {
    const sent = request(this.app.getHttpServer())[method](`/api/v1${path}`).set('Authorization', token);
    const response = await (body === undefined ? sent : sent.send(body));
    if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status} ${response.text}`);
    this.calls.push({
      method,
      path,
      credential: 'bearer',
      request: body,
      status: response.status,
      headers: response.headers,
      body: response.body,
    });
    return response;
  }
}
