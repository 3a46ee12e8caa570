import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { OutboxTransaction } from '@rmm/messaging';
import type { SqlExecutor } from '@rmm/persistence';
import { addressBucket, currentContext } from '@rmm/service-kit';
import { MailOutbox } from '../mail/mail-outbox.js';
import type { User } from '../users/user.js';
import { deviceName } from './device-name.js';
import type { SessionMethod } from './sessions.repository.js';

/** By these somebody has just proven an address: there is nothing to warn of. */
const SILENT: readonly SessionMethod[] = ['invite', 'registration'];
const FORGOTTEN_AFTER = '400 days';

/**
 * The devices somebody signs in from. A device is a browser on a system, without versions, in a coarse network: the
 * first half of an IPv4 address, the first 32 bits of an IPv6 one. So an update, another desk or a new lease of the
 * provider tells nothing, while a sign-in from elsewhere does. Only a hash is kept, of another shape for each user,
 * and no cookie is needed.
 */
@Injectable()
export class KnownDevices {
  constructor(private readonly mail: MailOutbox) {}

  /**
   * Notes the device of a sign-in, under the worker login and in its transaction; a new one is told by mail. The first
   * device of an account is not news.
   */
  async note(tx: OutboxTransaction, user: Pick<User, 'id' | 'email' | 'name' | 'now'>, method: SessionMethod) {
    const { ipAddress, userAgent } = currentContext() ?? {};
    const device = deviceName(userAgent);
    const isNews = await this.remember(tx, user.id, fingerprintOf(user.id, device, ipAddress));
    if (!isNews || SILENT.includes(method)) return;
    const time = `${user.now.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    const values = { name: user.name, device, address: ipAddress ?? '-', time };
    await this.mail.add(tx, { to: user.email, template: 'new-device', values });
  }

  /** Devices that were not used for more than a year are strangers again. */
  async purge(db: SqlExecutor, limit: number): Promise<void> {
    await db.query(
      `delete from known_device where (user_id, fingerprint) in (
         select user_id, fingerprint from known_device
         where last_seen_at < now() - interval '${FORGOTTEN_AFTER}' limit $1)`,
      [limit],
    );
  }

  /** True for exactly one of several sign-ins at once, and only when another device was known before. */
  private async remember(tx: SqlExecutor, userId: string, fingerprint: Buffer): Promise<boolean> {
    const [row] = await tx.query<{ isNews: boolean }>(
      `with seen as (
         insert into known_device as k (user_id, fingerprint) values ($1, $2)
         on conflict (user_id, fingerprint) do update set last_seen_at = now()
         returning k.first_seen_at = now() as is_new
       )
       select is_new and exists (select from known_device d where d.user_id = $1 and d.fingerprint <> $2) as "isNews"
       from seen`,
      [userId, fingerprint],
    );
    return row?.isNews ?? false;
  }
}

const fingerprintOf = (userId: string, device: string, address: string | undefined): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([userId, device, networkOf(address)]))
    .digest();

const networkOf = (address: string | undefined): string | null =>
  address === undefined ? null : addressBucket(address).split(/[.:]/).slice(0, 2).join('.');
