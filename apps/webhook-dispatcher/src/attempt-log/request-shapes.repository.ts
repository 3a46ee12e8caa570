import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { RequestShape } from './stored-exchange.mapper.js';

/** Inserts in the order of ids, so that two writers never wait for each other; skips shapes of deleted webhooks. */
const STORE = `
  INSERT INTO request_shape (id, webhook_id, partner_id, org_id, names, headers)
  SELECT s.id, w.id, w.partner_id, w.org_id, s.names, s.headers
  FROM jsonb_to_recordset(:shapes::jsonb) AS s(id uuid, webhook_id uuid, names text[], headers jsonb)
  JOIN webhook w ON w.id = s.webhook_id
  ORDER BY s.id
  ON CONFLICT DO NOTHING`;

@Injectable()
export class RequestShapesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Inserts the shapes that are not stored yet and marks all as stored. */
  async store(shapes: readonly RequestShape[]): Promise<void> {
    const rows = shapes.map(({ id, webhookId, names, headers }) => ({ id, webhook_id: webhookId, names, headers }));
    await this.worker.query(STORE, { shapes: JSON.stringify(rows) });
    for (const shape of shapes) shape.isStored = true;
  }
}
