import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { hashKey, mintLinkToken } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
  type TestResponse,
} from '../../test/identity-test-app.js';
import { registerPartner, roleId, sessionOf, type TestUser } from '../../test/users.js';
import { InviteInvalid } from '../invitations/invitation.errors.js';
import { UsersRepository } from '../users/users.repository.js';
import { MembershipsService } from './memberships.service.js';

const codeOf = ({ status, body }: TestResponse) => (status < 300 ? status : (body.code as string));

describe('MembershipsService', () => {
  let testApp: IdentityTestApp;
  let replicas: IdentityReplica[];
  let identity: IdentityReplica;
  let memberships: MembershipsService;
  let host: TestUser;
  let viewer: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    replicas = [identity, await testApp.startReplica()];
    memberships = identity.app.get(MembershipsService);
    host = await registerPartner(identity, 'Inviting MSP');
    viewer = await roleId(identity, host.bearer, 'Partner Viewer');
  }, 120_000);
  afterAll(() => testApp.stop());

  /** Registers a user with a tenant of its own and invites it to that of the host. */
  const invited = async () => {
    const user = await registerPartner(identity, 'Own MSP');
    const body = { email: user.email, name: 'Ada Example', roleId: viewer };
    expectStatus(await identity.post('/users/invite', body, host), 201);
    return { ...user, token: await identity.mailedToken(user.email, 2) };
  };
  const accept = (token: string, userId: string) =>
    identity.app.get(WorkerDatabase).transaction((tx) => memberships.accept(tx, hashKey(token), userId));
  const partnersOf = async (userId: string) =>
    (
      await testApp.query<{ partnerId: string }>(
        'SELECT partner_id AS "partnerId" FROM partner_membership WHERE user_id = $1',
        [userId],
      )
    ).map(({ partnerId }) => partnerId);
  const entries = (action: string, userId: string) =>
    testApp.query<{ partnerId: string; result: string; details: object }>(
      `SELECT partner_id AS "partnerId", result, details FROM audit_entry
       WHERE action = $1 AND resource_id = $2 ORDER BY sequence`,
      [action, userId],
    );

  describe('accepting an invitation', () => {
    it('makes the user a member, once, and records it with the tenant', async () => {
      const { userId, partnerId, token } = await invited();
      const { user, membership } = await accept(token, userId);
      expect(user).toMatchObject({ id: userId, status: 'active' });
      expect(membership).toMatchObject({ partnerId: host.partnerId, orgId: null, roleId: viewer });
      expect((await partnersOf(userId)).sort()).toEqual([partnerId, host.partnerId].sort());
      await expect(accept(token, userId)).rejects.toThrow(InviteInvalid);
      await eventually(async () =>
        expect(await entries('user.invite.accepted', userId)).toMatchObject([
          { partnerId: host.partnerId, result: 'success' },
        ]),
      );
    });

    it.each([
      ['of another user', 'SELECT 1'],
      ['that has expired', 'UPDATE invitation SET expires_at = now() WHERE user_id = $1'],
      ['of a disabled user', `UPDATE user_account SET status = 'disabled' WHERE id = $1`],
    ])('refuses a link %s and adds no member', async (reason, sql) => {
      const { userId, partnerId, token } = await invited();
      if (sql.includes('$1')) await testApp.query(sql, [userId]);
      const accepting = accept(token, reason === 'of another user' ? host.userId : userId);
      await expect(accepting).rejects.toThrow(InviteInvalid);
      expect(await partnersOf(userId)).toEqual([partnerId]);
    });

    it('refuses a suspended tenant and leaves the invitation open', async () => {
      const { userId, token } = await invited();
      const set = (status: string) =>
        testApp.query('UPDATE partner SET status = $2 WHERE id = $1', [host.partnerId, status]);
      await set('suspended');
      await expect(accept(token, userId)).rejects.toThrow(InviteInvalid);
      await set('active');
      expect(await accept(token, userId)).toMatchObject({ membership: { partnerId: host.partnerId } });
    });

    it('refuses a link that no invitation has', async () => {
      await expect(accept(mintLinkToken().key, host.userId)).rejects.toThrow(InviteInvalid);
    });
  });

  describe('a refused acceptance', () => {
    it("is recorded with the user's own tenant, and without an actor for an unknown user", async () => {
      const { userId, partnerId } = await invited();
      const user = await identity.app.get(UsersRepository).findById(identity.app.get(WorkerDatabase), userId);
      await memberships.recordRefusedAcceptance(user, 'wrong_password');
      await memberships.recordRefusedAcceptance(null, 'unknown_address');
      await eventually(async () => {
        expect(await entries('user.login.failed', userId)).toEqual([
          { partnerId, result: 'failure', details: { reason: 'wrong_password', method: 'invite' } },
        ]);
        const unknown = await testApp.query<{ actor: string | null }>(
          `SELECT partner_id AS actor FROM audit_entry
           WHERE action = 'user.login.failed' AND details ->> 'reason' = 'unknown_address'`,
        );
        expect(unknown).toEqual([{ actor: null }]);
      });
    });
  });

  describe('leaving', () => {
    it('ends the sessions that entered the membership, and no others', async () => {
      const user = await invited();
      const accepted = await identity.post('/auth/accept-invite', { token: user.token, password: PASSWORD });
      const there = sessionOf(expectStatus(accepted, 200));
      const leave = { partnerId: host.partnerId };
      const on = (n: number) => replicas[n % replicas.length] ?? identity;
      const calls = Array.from({ length: 20 }, (_, n) => on(n).post('/auth/leave', leave, user));
      expect((await Promise.all(calls)).map(codeOf).filter((code) => code === 200)).toHaveLength(1);
      for (const replica of replicas) {
        await eventually(async () => expect((await replica.get('/users/me', there)).status).toBe(401));
      }
      expectStatus(await identity.get('/users/me', user), 200);
      await eventually(async () =>
        expect(await entries('user.leave', user.userId)).toMatchObject([{ details: { roleId: viewer, sessions: 1 } }]),
      );
    });

    it("declines an invitation, and records it with the user's tenant alone", async () => {
      const user = await invited();
      const leaveTenant = () => identity.post('/auth/leave', { partnerId: host.partnerId }, user);
      expect((await leaveTenant()).body).toEqual({ success: true });
      expect(codeOf(await leaveTenant())).toBe('not_found');
      await expect(accept(user.token, user.userId)).rejects.toThrow(InviteInvalid);
      await eventually(async () =>
        expect(await entries('user.invite.declined', user.userId)).toMatchObject([
          { partnerId: user.partnerId, details: { partnerId: host.partnerId, orgId: null } },
        ]),
      );
    });

    it('needs exactly one tenant, to which the user belongs or is invited', async () => {
      const user = await registerPartner(identity);
      const leaveTenant = (body: object) => identity.post('/auth/leave', body, user);
      expect(codeOf(await leaveTenant({}))).toBe('validation_failed');
      expect(codeOf(await leaveTenant({ partnerId: user.partnerId, orgId: randomUUID() }))).toBe('validation_failed');
      expect(codeOf(await leaveTenant({ orgId: randomUUID() }))).toBe('not_found');
      expect(codeOf(await leaveTenant({ partnerId: host.partnerId }))).toBe('not_found');
    });

    it('refuses the last administrator', async () => {
      const { userId, partnerId, bearer } = await registerPartner(identity);
      expect(codeOf(await identity.post('/auth/leave', { partnerId }, { bearer }))).toBe('last_admin');
      expect(await partnersOf(userId)).toEqual([partnerId]);
    });

    it('refuses a caller whose account is gone', async () => {
      const caller = { userId: randomUUID() } as UserCaller;
      const leaving = memberships.leaveTenant(caller, { partnerId: host.partnerId });
      await expect(leaving).rejects.toMatchObject({ status: 401 });
    });
  });
});
