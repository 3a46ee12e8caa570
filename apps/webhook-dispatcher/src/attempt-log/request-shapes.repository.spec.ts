import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { createWebhook, DispatcherTestCluster } from '../../test/dispatcher-test-cluster.js';
import { RequestShapesRepository } from './request-shapes.repository.js';
import type { RequestShape } from './stored-exchange.mapper.js';

describe('RequestShapesRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let repository: RequestShapesRepository;
  let webhookId: string;
  let owner: { orgId: string; partnerId: string };

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    app = await cluster.start();
    repository = app.get(RequestShapesRepository, { strict: false });
    owner = await cluster.organization();
    webhookId = (await createWebhook(app, owner, 'http://127.0.0.1:9/')).id;
  });
  afterAll(() => cluster.close());

  const buildShape = (changes: Partial<RequestShape> = {}): RequestShape => ({
    id: randomUUID(),
    webhookId,
    names: ['Content-Type', 'X-Custom'],
    headers: [{ key: 'X-Custom', value: 'sealed' }],
    headerCount: 2,
    isStored: false,
    ...changes,
  });
  const rowsOf = (ids: readonly string[]) =>
    cluster.rows('SELECT id, webhook_id, partner_id, org_id, names, headers FROM request_shape WHERE id = ANY ($1)', [
      ids,
    ]);

  it('stores shapes with the tenant of their webhook and marks them as stored', async () => {
    const shape = buildShape();
    await repository.store([shape]);
    expect(shape.isStored).toBe(true);
    expect(await rowsOf([shape.id])).toEqual([
      {
        id: shape.id,
        webhook_id: webhookId,
        partner_id: owner.partnerId,
        org_id: owner.orgId,
        names: shape.names,
        headers: shape.headers,
      },
    ]);
  });

  it('leaves a shape that another replica has stored', async () => {
    const shape = buildShape();
    await repository.store([shape]);
    const again = buildShape({ id: shape.id, names: ['Other'] });
    await repository.store([again, buildShape()]);
    expect(again.isStored).toBe(true);
    expect(await rowsOf([shape.id])).toMatchObject([{ names: shape.names }]);
  });

  it('skips shapes of a deleted webhook and marks them as stored, so that they are not sent again', async () => {
    const [orphan, shape] = [buildShape({ webhookId: randomUUID() }), buildShape()];
    await repository.store([orphan, shape]);
    expect(orphan.isStored).toBe(true);
    expect(await rowsOf([orphan.id, shape.id])).toMatchObject([{ id: shape.id }]);
  });
});
