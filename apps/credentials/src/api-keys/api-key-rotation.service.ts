import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { mintApiKey } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { ApiKeyChanges } from './api-key-changes.js';
import type { ApiKey } from './api-key.entity.js';
import { ServicePrincipalKey } from './api-key.errors.js';
import { ApiKeysRepository } from './api-keys.repository.js';
import { ApiKeysService } from './api-keys.service.js';
import { STORE_IT_NOW, toApiKeyDto, type RotatedApiKeyDto } from './dto/api-key.dto.js';
import type { RotateApiKeyDto } from './dto/rotate-api-key.dto.js';
import { RotationCeiling } from './rotation-ceiling.js';

/** A new key in the place of an old one: the same record, its counters at nothing. @see SPEC.md 3.1 */
@Injectable()
export class ApiKeyRotationService {
  constructor(
    private readonly repository: ApiKeysRepository,
    private readonly keys: ApiKeysService,
    private readonly ceiling: RotationCeiling,
    private readonly changes: ApiKeyChanges,
    private readonly tenants: TenantDatabase,
    private readonly clock: Clock,
  ) {}

  /** @throws ServicePrincipalKey 409, ApiKeyNotActive 400, PermissionNotDelegable 403, UnavailableError 503 */
  async rotate(caller: UserCaller, id: string, { overlapSeconds = 0 }: RotateApiKeyDto): Promise<RotatedApiKeyDto> {
    const seen = await this.repository.get(caller, id);
    this.assertRotatable(seen);
    await this.ceiling.assert(caller, seen);
    const { key, keyPrefix, keyHash } = mintApiKey();
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.repository.lock(tx, id);
      // what may have changed since it was judged
      this.assertRotatable(row);
      this.ceiling.assertScopes(caller, row);
      const rotated = await this.repository.rotate(tx, id, { keyPrefix, keyHash, overlapSeconds });
      const details = { keyPrefix, previousKeyPrefix: row.keyPrefix, overlapSeconds };
      await this.changes.audit(tx, caller, 'api_key.rotate', rotated, details);
      await this.changes.announce(tx, [row], 'rotated');
      return { ...toApiKeyDto(rotated, this.clock.now()), key, warning: STORE_IT_NOW };
    });
  }

  private assertRotatable(key: ApiKey): void {
    this.keys.assertActive(key);
    if (key.principalId !== null) throw new ServicePrincipalKey();
  }
}
