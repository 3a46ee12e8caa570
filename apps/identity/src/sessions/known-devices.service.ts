import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { OutboxTransaction } from '@rmm/messaging';
import { addressBucket, currentContext } from '@rmm/service-kit';
import { MailService } from '../mail/mail.service.js';
import type { User } from '../users/user.js';
import { deviceName } from './device-name.js';
import { KnownDevicesRepository } from './known-devices.repository.js';
import type { SessionMethod } from './session-family.entity.js';

/** Sign-ins by these methods follow a mail to the user, so no warning is sent. */
const WITHOUT_WARNING: readonly SessionMethod[] = ['invite', 'registration'];

/**
 * Recognizes the devices a user signs in from. A device is a browser on an operating system, without versions, in a
 * coarse network: the first half of an IPv4 address or the first 32 bits of an IPv6 address. An update of the browser
 * or another address of the same provider is therefore not a new device. No cookie is needed.
 */
@Injectable()
export class KnownDevices {
  constructor(
    private readonly repository: KnownDevicesRepository,
    private readonly mail: MailService,
  ) {}

  /**
   * Remembers the device of a sign-in, in its transaction under the worker login, and warns the user by mail when it is
   * new. The first device of an account causes no mail.
   */
  async remember(
    tx: OutboxTransaction,
    user: Pick<User, 'id' | 'email' | 'name' | 'now'>,
    method: SessionMethod,
  ): Promise<void> {
    const { ipAddress, userAgent } = currentContext() ?? {};
    const device = deviceName(userAgent);
    const isNew = await this.repository.remember(tx, user.id, fingerprintOf(user.id, device, ipAddress));
    if (!isNew || WITHOUT_WARNING.includes(method)) return;
    const time = `${user.now.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    const values = { name: user.name, device, address: ipAddress ?? '-', time };
    await this.mail.add(tx, { to: user.email, template: 'new-device', values });
  }
}

const fingerprintOf = (userId: string, device: string, address: string | undefined): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([userId, device, networkOf(address)]))
    .digest();

const networkOf = (address: string | undefined): string | null =>
  address === undefined ? null : addressBucket(address).split(/[.:]/).slice(0, 2).join('.');
