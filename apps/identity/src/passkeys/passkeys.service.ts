import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { toPage, type Paged, type PageQueryDto } from '@rmm/validation';
import type { PasskeyDto } from './dto/passkey.dto.js';
import { toPasskeyDto } from './passkey.mapper.js';
import { PasskeysRepository } from './passkeys.repository.js';

/** Lists and renames the passkeys of the signed-in user. */
@Injectable()
export class PasskeysService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: PasskeysRepository,
    private readonly audit: AuditTrail,
  ) {}

  /** Lists the passkeys, newest first. */
  async list(caller: UserCaller, page: PageQueryDto): Promise<Paged<PasskeyDto>> {
    const { rows, ...counted } = await this.repository.listPageOf(caller, caller.userId, page);
    return toPage(page, counted, rows.map(toPasskeyDto));
  }

  /** @throws NotFoundError when the caller has no such passkey */
  async rename(caller: UserCaller, id: string, name: string): Promise<PasskeyDto> {
    const passkey = await this.tenants.transaction(caller, async (tx) => {
      const renamed = await this.repository.rename(tx, caller.userId, id, name);
      await this.audit.record(tx, caller, 'auth.mfa.passkey.update', { type: 'passkey', id, name });
      return renamed;
    });
    return toPasskeyDto(passkey);
  }
}
