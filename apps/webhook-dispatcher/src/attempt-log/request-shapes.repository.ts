import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { RequestShape } from './request-shape.js';

/** In the order of their ids, so that two writers never wait for each other in a circle. */
const STORE = `
  insert into request_shape (id, webhook_id, partner_id, org_id, names, headers)
  select s.id, w.id, w.partner_id, w.org_id, s.names, s.headers
    from jsonb_to_recordset($1::jsonb) as s(id uuid, webhook_id uuid, names text[], headers jsonb)
    join webhook w on w.id = s.webhook_id
   order by s.id
  on conflict do nothing`;

@Injectable()
export class RequestShapesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Known ones are left alone; those of a deleted webhook are nobody's any more. */
  async store(shapes: readonly RequestShape[]): Promise<void> {
    const rows = shapes.map(({ id, webhookId, names, headers }) => ({ id, webhook_id: webhookId, names, headers }));
    await this.worker.query(STORE, [JSON.stringify(rows)]);
    for (const shape of shapes) shape.isStored = true;
  }
}
