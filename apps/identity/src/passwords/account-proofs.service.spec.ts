import type { UserCaller } from '@rmm/access';
import type { SsoReauthGrantsService } from '../sso/sso-reauth-grants.service.js';
import type { User } from '../users/user.types.js';
import { AccountProofsService } from './account-proofs.service.js';
import type { PasswordVerificationService } from './password-verification.service.js';
import { CurrentPasswordWrong, ReauthenticationRequired } from './password.errors.js';

const caller = { userId: 'user', sessionId: 'session' } as UserCaller;
const withPassword = { id: 'user', passwordHash: 'a hash' } as User;
const withoutPassword = { id: 'user', passwordHash: null } as User;

describe('AccountProofsService', () => {
  let grants: Set<string>;
  let proofs: AccountProofsService;

  beforeEach(() => {
    grants = new Set(['grant']);
    proofs = new AccountProofsService(
      {
        verifyCurrent: (_caller: UserCaller, _user: User, password?: string) =>
          password === 'right' ? Promise.resolve() : Promise.reject(new CurrentPasswordWrong()),
      } as unknown as PasswordVerificationService,
      {
        isValid: (id: string) => Promise.resolve(grants.has(id)),
        consume: (id: string) => Promise.resolve(grants.delete(id)),
      } as unknown as SsoReauthGrantsService,
    );
  });

  it('verifies the password of an account that has one, and ignores a grant', async () => {
    await expect(proofs.verify(caller, withPassword, { currentPassword: 'right' })).resolves.toBeNull();
    const both = { currentPassword: 'wrong', ssoReauthGrantId: 'grant' };
    await expect(proofs.verify(caller, withPassword, both)).rejects.toThrow(CurrentPasswordWrong);
    expect(grants).toEqual(new Set(['grant']));
  });

  it.each([undefined, '', 'unknown'])('refuses an account without a password and the grant %p', async (id) => {
    const given = { currentPassword: 'right', ssoReauthGrantId: id };
    await expect(proofs.use(caller, withoutPassword, given)).rejects.toThrow(ReauthenticationRequired);
  });

  it('does not use a grant up before it is consumed, and then for one caller', async () => {
    const id = await proofs.verify(caller, withoutPassword, { ssoReauthGrantId: 'grant' });
    expect([id, ...grants]).toEqual(['grant', 'grant']);
    await proofs.consume(caller, id);
    await expect(proofs.consume(caller, id)).rejects.toThrow(ReauthenticationRequired);
  });
});
