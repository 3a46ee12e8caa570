import type { User, UserMembership } from '../users/user.types.js';
import { canResetPassword } from './password-reset.policy.js';

const membership = (partnerStatus: string) =>
  ({ scope: 'partner', partnerStatus, orgId: null, orgStatus: null }) as UserMembership;
const user = (more: Partial<User> = {}): User =>
  ({ status: 'active', passwordHash: 'hash', memberships: [membership('active')], ...more }) as User;

describe('canResetPassword', () => {
  it('permits an active user with a password and an active tenant', () => {
    expect(canResetPassword(user())).toBe(true);
    expect(canResetPassword(user({ memberships: [membership('suspended'), membership('active')] }))).toBe(true);
  });

  it.each<[string, Partial<User>]>([
    ['is invited', { status: 'invited' }],
    ['is disabled', { status: 'disabled' }],
    ['has no password', { passwordHash: null }],
    ['has no membership', { memberships: [] }],
    ['belongs to suspended tenants only', { memberships: [membership('suspended')] }],
  ])('refuses a user who %s', (_, more) => {
    expect(canResetPassword(user(more))).toBe(false);
  });
});
