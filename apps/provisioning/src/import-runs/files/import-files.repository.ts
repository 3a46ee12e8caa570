import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';

export interface StoredFileKey {
  runId: string;
  partnerId: string;
}

/** Stores uploaded files in parts, where every replica can read them until their rows are stored. */
@Injectable()
export class ImportFilesRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  async insertPart(caller: Caller, { runId, partnerId }: StoredFileKey, part: number, bytes: Buffer): Promise<void> {
    await this.tenants.transaction(caller, (tx) =>
      tx.query(
        'INSERT INTO import_file_chunk (run_id, partner_id, part, bytes) VALUES (:runId, :partnerId, :part, :bytes)',
        { runId, partnerId, part, bytes },
      ),
    );
  }

  /** Yields the file part by part; each is read when the one before is consumed. */
  async *read(caller: Caller, { runId, partnerId }: StoredFileKey): AsyncGenerator<Buffer> {
    for (let part = 0; ; part += 1) {
      const [row] = await this.tenants.read<{ bytes: Buffer }>(
        caller,
        `SELECT c.bytes FROM import_file_chunk c
          WHERE c.run_id = :runId AND c.partner_id = :partnerId AND c.part = :part`,
        { runId, partnerId, part },
      );
      if (!row) return;
      yield row.bytes;
    }
  }

  async delete(tx: TenantTransaction, { runId, partnerId }: StoredFileKey): Promise<void> {
    await tx.query('DELETE FROM import_file_chunk WHERE run_id = :runId AND partner_id = :partnerId', {
      ...{ runId, partnerId },
    });
  }
}
