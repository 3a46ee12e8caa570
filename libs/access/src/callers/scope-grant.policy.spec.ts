import { API_KEY_SCOPES, PARTNER_SCOPES } from '@rmm/permissions';
import type { UserCaller } from './caller.js';
import { assertKnownScopes, assertCanGrant } from './scope-grant.policy.js';

const callerWith = (...permissions: string[]) => ({ permissions: new Set(permissions) }) as unknown as UserCaller;
const errorOf = (run: () => void): Record<string, unknown> => {
  try {
    run();
  } catch (error) {
    return error as Record<string, unknown>;
  }
  throw new Error('no error was thrown');
};

describe('scope grants', () => {
  it.each(['*', 'devices:*', '*:read'])('refuse the wildcard %s', (scope) => {
    expect(errorOf(() => assertKnownScopes([scope], API_KEY_SCOPES))).toMatchObject({
      status: 400,
      code: 'wildcard_scope_unsupported',
    });
  });

  it('refuse a scope that is not in the catalog and list the catalog', () => {
    const error = errorOf(() => assertKnownScopes(['devices:read', 'devices:fly'], API_KEY_SCOPES));
    expect(error).toMatchObject({ status: 400, code: 'unsupported_scope' });
    expect(error['extras']).toEqual({ supportedScopes: Object.keys(API_KEY_SCOPES) });
  });

  it('are accepted from a caller with every permission behind the scopes', () => {
    expect(() => assertCanGrant(callerWith('devices:read'), ['devices:read'], API_KEY_SCOPES)).not.toThrow();
    expect(() => assertCanGrant(callerWith('*:*'), ['ai:execute_admin'], API_KEY_SCOPES)).not.toThrow();
  });

  it('are refused to a caller who lacks a permission, naming it', () => {
    const error = errorOf(() => assertCanGrant(callerWith('devices:read'), ['ai:read'], API_KEY_SCOPES));
    expect(error).toMatchObject({ status: 403, code: 'permission_not_delegable' });
    expect(error['extras']).toEqual({ required: ['alerts:read', 'scripts:read', 'automations:read'] });
  });

  it('need organizations:write for the enrollment-key scope of a partner key', () => {
    const caller = callerWith('sites:read');
    expect(errorOf(() => assertCanGrant(caller, ['enrollment-keys:write'], PARTNER_SCOPES))['extras']).toEqual({
      required: ['organizations:write'],
    });
  });
});
