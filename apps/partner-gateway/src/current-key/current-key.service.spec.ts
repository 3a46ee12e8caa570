import type { KeyWindow, PartnerKeyCaller } from '@rmm/access';
import type { AuditTrail } from '@rmm/messaging';
import { Logger, UnavailableError } from '@rmm/service-kit';
import { CurrentKeyService } from './current-key.service.js';

const caller = {
  kind: 'partner_key',
  partnerId: 'partner',
  principalId: 'principal',
  principalName: 'Documentation',
  keyId: 'key',
  keyName: 'First',
  keyPrefix: 'svc_sp_aaaaaaaaaaa',
  expiresAt: null,
  scopes: ['sites:read'],
  rateLimit: 600,
} as unknown as PartnerKeyCaller;

describe('CurrentKeyService', () => {
  const read = (bucket: string, limit: number) =>
    Promise.resolve({
      allowed: true,
      limit,
      remaining: bucket.startsWith('partner-writes') ? limit : 0,
      resetAtSeconds: 1_767_225_600,
      retryAfterSeconds: 0,
    });

  const recordDirect = jest.fn().mockResolvedValue(undefined);
  const serviceWith = (readWindow: unknown) =>
    new CurrentKeyService(
      { read: readWindow } as unknown as KeyWindow,
      { recordDirect } as unknown as AuditTrail,
      {} as Logger,
    );

  it('returns principal, key, scopes and what is left of both windows', async () => {
    const service = serviceWith(read);
    const window = { windowSeconds: 3_600, resetsAt: '2026-01-01T00:00:00.000Z' };
    expect(await service.describe(caller)).toEqual({
      partnerId: 'partner',
      principal: { id: 'principal', name: 'Documentation' },
      key: { id: 'key', name: 'First', prefix: 'svc_sp_aaaaaaaaaaa', expiresAt: null },
      scopes: ['sites:read'],
      limits: {
        reads: { limit: 600, remaining: 0, ...window },
        writes: { limit: 120, remaining: 120, ...window, resetsAt: null },
      },
    });
    const { limits } = await service.describe({ ...caller, rateLimit: 50 });
    expect([limits.reads.limit, limits.writes.limit]).toEqual([50, 50]);
  });

  it('throws UnavailableError when a window cannot be read', async () => {
    const service = serviceWith(() => Promise.reject(new UnavailableError()));
    await expect(service.describe(caller)).rejects.toThrow(UnavailableError);
  });
});
