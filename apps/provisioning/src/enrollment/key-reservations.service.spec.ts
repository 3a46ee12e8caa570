import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { ENROLLMENT_KEYS_CONFIRM, ENROLLMENT_KEYS_RELEASE, type EnrollmentReserveReply } from '@rmm/contracts';
import type { RpcClient } from '@rmm/messaging';
import { UnavailableError } from '@rmm/service-kit';
import { EnrollmentKeyUnusable, InvalidEnrollmentKey } from './enrollment.errors.js';
import { KeyReservationsService } from './key-reservations.service.js';

describe('KeyReservationsService', () => {
  const call = jest.fn();
  const reservations = new KeyReservationsService({ call } as unknown as RpcClient);
  const id = randomUUID();

  const reserve = (reply: EnrollmentReserveReply) => {
    call.mockResolvedValueOnce(reply);
    return reservations.reserve(['ab'], id);
  };

  it('returns the reservation', async () => {
    const reservation = {
      reserved: true as const,
      enrollmentKeyId: randomUUID(),
      orgId: randomUUID(),
      partnerId: randomUUID(),
      siteId: null,
      enrollmentSecretHash: null,
    };
    expect(await reserve(reservation)).toEqual({ reservation, refusal: null });
  });

  it('throws 401 for an unknown key and returns an unusable one with the reason', async () => {
    const unknown = reserve({ reserved: false, reason: 'invalid_enrollment_key', key: null });
    await expect(unknown).rejects.toThrow(InvalidEnrollmentKey);
    const [orgId, partnerId] = [randomUUID(), randomUUID()];
    const key = { enrollmentKeyId: randomUUID(), orgId, partnerId, siteId: null, enrollmentSecretHash: null };
    const unusable = await reserve({ reserved: false, reason: 'enrollment_key_expired', key });
    expect(unusable).toMatchObject({ reservation: key, refusal: { status: 403, code: 'enrollment_key_expired' } });
    const raced = await reserve({ reserved: false, reason: 'enrollment_key_race_lost', key });
    expect(raced.refusal).toBeInstanceOf(EnrollmentKeyUnusable);
  });

  it('logs a failed settlement and does not throw', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    call.mockRejectedValueOnce(new UnavailableError()).mockResolvedValueOnce({ settled: true });
    await reservations.confirm(id);
    await reservations.release(id);
    expect(call.mock.calls.slice(-2).map(([contract]) => contract)).toEqual([
      ENROLLMENT_KEYS_CONFIRM,
      ENROLLMENT_KEYS_RELEASE,
    ]);
    expect(warn).toHaveBeenCalledTimes(1);
  });
});
