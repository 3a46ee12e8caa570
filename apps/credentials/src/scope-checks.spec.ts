import type { UserCaller } from '@rmm/access';
import { API_KEY_SCOPES, PARTNER_SCOPES } from '@rmm/permissions';
import { assertKnownScopes, assertMayGrant } from './scope-checks.js';

const holding = (...permissions: string[]) => ({ permissions: new Set(permissions) }) as unknown as UserCaller;
const refusal = (act: () => void): Record<string, unknown> => {
  try {
    act();
  } catch (error) {
    return error as Record<string, unknown>;
  }
  throw new Error('was not refused');
};

describe('the scopes of a key', () => {
  it.each(['*', 'devices:*', '*:read'])('may not be the wildcard %s', (scope) => {
    expect(refusal(() => assertKnownScopes([scope], API_KEY_SCOPES))).toMatchObject({
      status: 400,
      code: 'wildcard_scope_unsupported',
    });
  });

  it('must be in the catalog, which the refusal lists', () => {
    const error = refusal(() => assertKnownScopes(['devices:read', 'devices:fly'], API_KEY_SCOPES));
    expect(error).toMatchObject({ status: 400, code: 'unsupported_scope' });
    expect(error['extras']).toEqual({ supportedScopes: Object.keys(API_KEY_SCOPES) });
  });

  it('are granted by somebody who holds every permission behind them', () => {
    expect(() => assertMayGrant(holding('devices:read'), ['devices:read'], API_KEY_SCOPES)).not.toThrow();
    expect(() => assertMayGrant(holding('*:*'), ['ai:execute_admin'], API_KEY_SCOPES)).not.toThrow();
  });

  it('are refused to somebody who lacks one, naming it', () => {
    const error = refusal(() => assertMayGrant(holding('devices:read'), ['ai:read'], API_KEY_SCOPES));
    expect(error).toMatchObject({ status: 403, code: 'permission_not_delegable' });
    expect(error['extras']).toEqual({ required: ['alerts:read', 'scripts:read', 'automations:read'] });
  });

  it('of a partner key need organizations:write for enrollment keys', () => {
    const caller = holding('sites:read');
    expect(refusal(() => assertMayGrant(caller, ['enrollment-keys:write'], PARTNER_SCOPES))['extras']).toEqual({
      required: ['organizations:write'],
    });
  });
});
