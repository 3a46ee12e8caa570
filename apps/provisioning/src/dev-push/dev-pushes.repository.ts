import { Injectable } from '@nestjs/common';
import { TenantDatabase, TenantRepository, WorkerDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { DevPush } from './dev-push.entity.js';

export type NewDevPush = Omit<DevPush, 'createdAt' | 'expiresAt' | 'downloadedAt'>;

/** The build to send, by its id and size. */
export type ClaimedDevPush = Pick<DevPush, 'id' | 'bytes' | 'checksum'>;

const LIFETIME = `interval '5 minutes'`;

/** One statement: of two requests with the token one has the build. */
const CLAIM = `
  UPDATE dev_push SET downloaded_at = now()
   WHERE token_hash = :tokenHash AND device_id = :deviceId AND downloaded_at IS NULL AND expires_at > now()
  RETURNING id, bytes, checksum`;

@Injectable()
export class DevPushesRepository extends TenantRepository<DevPush> {
  constructor(
    tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
  ) {
    super(tenants, DevPush, () => new NotFoundError('Download'), { ownership: 'organization' });
  }

  /** Stores a push that can be downloaded for five minutes. */
  async create(tx: TenantTransaction, push: NewDevPush): Promise<void> {
    await this.insert(tx, { ...push, expiresAt: () => `now() + ${LIFETIME}` });
  }

  /** Returns a push that the device may download, once. @throws NotFoundError  also for a used or expired token */
  async claim(tx: TenantTransaction, deviceId: string, tokenHash: Buffer): Promise<ClaimedDevPush> {
    const [push] = await tx.query<ClaimedDevPush>(CLAIM, { deviceId, tokenHash });
    return this.found(push);
  }

  /** Deletes pushes a day after they ended. Uses the worker login: there is no caller. */
  async purge(): Promise<void> {
    await this.worker.query(`DELETE FROM dev_push WHERE expires_at < now() - interval '1 day'`);
  }
}
