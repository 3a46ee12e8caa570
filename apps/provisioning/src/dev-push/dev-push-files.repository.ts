import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { DevPushChunk } from './dev-push-chunk.entity.js';

/** Uploads of a moment wait for each other, so that together they stay below the limit. */
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('dev_push_file', 0))`;

const RESERVE = `
  INSERT INTO dev_push_file (id, reserved_bytes)
  SELECT :id, :bytes WHERE (SELECT coalesce(sum(reserved_bytes), 0) FROM dev_push_file) + :bytes::bigint <= :maxBytes::bigint
  RETURNING 1 AS one`;

/**
 * Stores the files of pushes in parts, where every replica can read them. Uses the worker login: a file is stored before
 * the device of the form is known, and it is read by the id of a push that the caller may read.
 */
@Injectable()
export class DevPushFilesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Begins a file that may get as large as `bytes`. @returns false when all files would exceed `maxBytes` */
  reserve(id: string, bytes: number, maxBytes: number): Promise<boolean> {
    return this.worker.transaction(async (tx) => {
      await tx.query(LOCK);
      return (await tx.query(RESERVE, { id, bytes, maxBytes })).length > 0;
    });
  }

  async insertPart(fileId: string, part: number, bytes: Buffer): Promise<void> {
    await this.worker.query('INSERT INTO dev_push_chunk (file_id, part, bytes) VALUES (:fileId, :part, :bytes)', {
      ...{ fileId, part, bytes },
    });
  }

  /** Yields the file part by part; each is read when the one before is consumed. */
  async *read(fileId: string): AsyncGenerator<Buffer> {
    for (let part = 0; ; part += 1) {
      const [row] = await this.worker.query<Pick<DevPushChunk, 'bytes'>>(
        'SELECT bytes FROM dev_push_chunk WHERE file_id = :fileId AND part = :part',
        { fileId, part },
      );
      if (!row) return;
      yield row.bytes;
    }
  }

  async delete(id: string): Promise<void> {
    await this.worker.query('DELETE FROM dev_push_file WHERE id = :id', { id });
  }

  /** Deletes files that are older than any upload, wait and download of one. */
  async purge(minutes: number): Promise<void> {
    await this.worker.query(
      'DELETE FROM dev_push_file WHERE created_at < now() - make_interval(mins => :minutes::integer)',
      {
        minutes,
      },
    );
  }
}
