import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { asText } from '../../test/api-examples/audit.js';
import {
  ADMIN,
  cookiesOf,
  expectStatus,
  freshAddress,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { attachFile, createPng } from '../../test/images.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf, signInAdmin } from '../../test/users.js';

const NEW_PASSWORD = 'another-horse-battery-8';
const WRONG_PASSWORD = 'not-the-horse-battery-5';
const USER_AGENT = 'audit-names-spec/1';

interface SealedRow {
  action: string;
  actorType: string;
  actorId: string | null;
  actorEmail: string | null;
  resourceType: string;
  resourceId: string | null;
  result: string;
  ipAddress: string | null;
  userAgent: string | null;
  requestId: string | null;
  reason: string | null;
  canonical: string;
}

type Who = 'admin' | 'member' | 'mover' | 'root' | 'limited';

const EXPECTED: readonly [action: string, who: Who, resource: string, result?: string, reason?: string][] = [
  ['partner.create', 'admin', 'partner'],
  ['partner.create', 'root', 'partner'],
  ['auth.email_verified', 'admin', 'user'],
  ['user.login', 'mover', 'user'],
  ['user.login', 'root', 'user'],
  ['user.login.failed', 'mover', 'user', 'failure', 'wrong_password'],
  ['user.logout', 'mover', 'user'],
  ['user.context.switch', 'mover', 'user'],
  ['user.password.change', 'mover', 'user'],
  ['user.email.change.requested', 'mover', 'user'],
  ['auth.refresh.reuse_detected', 'mover', 'session', 'denied'],
  ['user.profile.update', 'admin', 'user'],
  ['user.avatar.upload', 'admin', 'user'],
  ['user.avatar.delete', 'admin', 'user'],
  ['auth.mfa.setup', 'admin', 'user'],
  ['auth.mfa.setup.failed', 'admin', 'user', 'failure'],
  ['auth.mfa.enable', 'admin', 'user'],
  ['auth.mfa.stepup.failed', 'admin', 'user', 'failure'],
  ['auth.mfa.stepup.granted', 'admin', 'user'],
  ['auth.mfa.recovery_code.used', 'admin', 'user'],
  ['auth.mfa.recovery_codes.rotate', 'admin', 'user'],
  ['auth.mfa.disable.failed', 'member', 'user', 'failure'],
  ['auth.mfa.disable', 'member', 'user'],
  ['user.mfa_reset', 'admin', 'user'],
  ['user.invite', 'admin', 'user'],
  ['user.invite.resend', 'admin', 'user'],
  ['user.invite.accepted', 'member', 'user'],
  ['user.role.assign', 'admin', 'user'],
  ['user.update', 'root', 'user'],
  ['user.remove', 'admin', 'user'],
  ['role.create', 'admin', 'role'],
  ['role.update', 'admin', 'role'],
  ['role.clone', 'admin', 'role'],
  ['role.delete', 'admin', 'role'],
  ['partner.update', 'admin', 'partner'],
  ['security_policy.update', 'admin', 'partner'],
  ['audit.export', 'admin', 'audit_log'],
  ['audit.verify', 'admin', 'audit_log'],
  ['access.denied', 'member', 'route', 'denied', 'permission_denied'],
  ['access.denied', 'limited', 'route', 'denied', 'permission_not_delegable'],
];

describe('audit entries of user actions', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let rows: SealedRow[];
  const users: Partial<Record<Who, { userId: string; email: string }>> = {};
  const called = new Map<string, { from: string; path: string }>();
  const secrets = new Set<string>();

  /** Whatever a body calls by these names, and all that is in lists of them. */
  const SECRET = /password|token|code|secret|grantid|otpauthurl/i;
  const remember = (value: unknown, secret = false): void => {
    if (typeof value === 'string') {
      if (secret && value.length >= 6) secrets.add(value);
    } else if (typeof value === 'object' && value !== null) {
      const isList = Array.isArray(value);
      for (const [name, member] of Object.entries(value)) remember(member, isList ? secret : SECRET.test(name));
    }
  };

  /** Every call has an id and an address of its own, and what it carried is known. */
  const watchCalls = () => {
    const call = identity.call.bind(identity);
    jest.spyOn(identity, 'call').mockImplementation(async (method, path, body, options) => {
      const [requestId, from] = [randomUUID(), freshAddress()];
      called.set(requestId, { from, path });
      const headers = { ...options.headers, 'x-request-id': requestId, 'user-agent': USER_AGENT };
      const response = await call(method, path, body, { ...options, from, headers });
      const isError = response.status >= 400;
      remember([body, ...(isError ? [] : [response.body, cookiesOf(response)])]);
      for (const [name, value] of Object.entries(cookiesOf(response))) if (name !== '' && value) secrets.add(value);
      return response;
    });
  };

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica({ REFRESH_ROTATION_GRACE_SECONDS: '0' });
    watchCalls();
    await actAll();
    await eventually(async () => {
      rows = await testApp.query<SealedRow>(
        `select action, actor_type as "actorType", actor_id as "actorId", actor_email as "actorEmail", canonical,
           resource_type as "resourceType", resource_id as "resourceId", result, ip_address as "ipAddress",
           user_agent as "userAgent", request_id as "requestId", details->>'reason' as reason
         from audit_entry order by sealed_at, sequence`,
      );
      const missing = EXPECTED.filter(
        ([action, who, , result, reason]) => !ofAction(action, who, result, reason).length,
      );
      expect(missing).toEqual([]);
    });
  }, 120_000);
  afterAll(() => testApp.stop());

  const actAll = async () => {
    const admin = await actAsAdmin();
    await actOnMembers(admin);
    await actOnRoles(admin);
    await actOnSessions(admin);
    expectStatus(await identity.get('/audit-logs/export', { bearer: admin, send: asText }), 200);
    expectStatus(await identity.get('/audit-logs/verify', { bearer: admin }), 200);
  };

  /** Signs up, changes the account and its factors. @returns a session that has proved a factor */
  const actAsAdmin = async (): Promise<string> => {
    const someUser = await registerPartner(identity);
    users.admin = someUser;
    const own = { bearer: someUser.bearer };
    expectStatus(await identity.patch('/users/me', { name: 'Pat Rowan' }, own), 200);
    const picture = { ...own, send: attachFile(createPng(64, 64)) };
    expectStatus(await identity.call('post', '/users/me/avatar', undefined, picture), 200);
    expectStatus(await identity.delete('/users/me/avatar', own), 200);
    expectStatus(await identity.post('/auth/mfa/setup', undefined, own), 200);
    expectStatus(await identity.post('/auth/mfa/enable', { code: '000000' }, own), 400);
    const { secret, recoveryCodes, bearer } = await enrollTotp(identity, someUser.bearer);
    const stepUp = { method: 'totp', operation: 'change_email' };
    expectStatus(await identity.post('/auth/mfa/step-up', { ...stepUp, code: '000000' }, { bearer }), 400);
    expectStatus(await identity.post('/auth/mfa/step-up', { ...stepUp, code: totpCode(secret) }, { bearer }), 200);
    const challenged = await identity.post('/auth/login', { email: someUser.email, password: PASSWORD });
    const { tempToken } = expectStatus(challenged, 200).body;
    const [code] = recoveryCodes;
    expectStatus(await identity.post('/auth/mfa/verify', { tempToken, code }), 200);
    const renewed = expectStatus(await identity.post('/auth/mfa/recovery-codes', {}, { bearer }), 200);
    const session = sessionOf(renewed);
    const settings = { security: { sessionLifetimeHours: 12 }, theme: 'dark' };
    expectStatus(await identity.patch('/orgs/partners/me', { settings }, session), 200);
    return session.bearer;
  };

  const actOnMembers = async (bearer: string) => {
    const viewer = await roleId(identity, bearer, 'Partner Viewer');
    const technician = await roleId(identity, bearer, 'Partner Technician');
    const invited = { email: freshEmail(), name: 'Robin Vale', roleId: viewer };
    const { id } = expectStatus(await identity.post('/users/invite', invited, { bearer }), 201).body;
    expectStatus(await identity.post('/users/resend-invite', { userId: id }, { bearer }), 200);

    const member = await inviteAndAccept(identity, bearer, { roleId: viewer });
    users.member = member;
    expectStatus(await identity.get('/users', { bearer: member.bearer }), 403);
    const enrolled = await enrollTotp(identity, member.bearer);
    const proof = { currentPassword: PASSWORD, code: enrolled.recoveryCodes[0] };
    const refreshToken = enrolled.cookies.service_refresh_token;
    const wrong = { ...proof, currentPassword: WRONG_PASSWORD, refreshToken };
    expectStatus(await identity.post('/auth/mfa/disable', wrong, { bearer: enrolled.bearer }), 400);
    const right = { ...proof, refreshToken };
    expectStatus(await identity.post('/auth/mfa/disable', right, { bearer: enrolled.bearer }), 200);
    const locked = await inviteAndAccept(identity, bearer, { roleId: viewer });
    await enrollTotp(identity, locked.bearer);
    expectStatus(await identity.post(`/users/${locked.userId}/mfa/reset`, undefined, { bearer }), 200);
    expectStatus(await identity.post(`/users/${member.userId}/role`, { roleId: technician }, { bearer }), 200);
    const root = await signInAdmin(identity);
    users.root = { userId: (await identity.get('/users/me', { bearer: root })).body.id as string, email: ADMIN.email };
    const left = { status: 'disabled', disabledReason: 'Left the company' };
    expectStatus(await identity.patch(`/users/${member.userId}`, left, { bearer: root }), 200);
    expectStatus(await identity.delete(`/users/${member.userId}`, { bearer }), 200);
    const partner = { name: 'Made MSP', admin: { email: freshEmail(), name: 'Lou Marsh' } };
    expectStatus(await identity.post('/orgs/partners', partner, { bearer: root }), 201);
  };

  const actOnRoles = async (bearer: string) => {
    const viewer = await roleId(identity, bearer, 'Partner Viewer');
    const permissions = ['users:read', 'users:write'].map((pair) => {
      const [resource, action] = pair.split(':');
      return { resource, action };
    });
    const created = await identity.post('/roles', { name: 'Desk', permissions }, { bearer });
    const id = expectStatus(created, 201).body.id as string;
    expectStatus(await identity.patch(`/roles/${id}`, { description: 'First line' }, { bearer }), 200);
    const cloned = await identity.post(`/roles/${viewer}/clone`, { name: 'Our viewer' }, { bearer });
    expectStatus(await identity.delete(`/roles/${expectStatus(cloned, 201).body.id}`, { bearer }), 200);

    const limited = await inviteAndAccept(identity, bearer, { roleId: id });
    users.limited = limited;
    const beyond = { name: 'All', permissions: [{ resource: 'devices', action: 'delete' }] };
    expectStatus(await identity.post('/roles', beyond, { bearer: limited.bearer }), 403);
  };

  const actOnSessions = async (admin: string) => {
    const mover = await inviteAndAccept(identity, admin, { roleId: await roleId(identity, admin, 'Partner Viewer') });
    users.mover = mover;
    const { partnerId } = users.admin as unknown as { partnerId: string };
    const { email } = mover;
    const login = async (password: string) => identity.post('/auth/login', { email, password });
    expectStatus(await login(WRONG_PASSWORD), 401);
    const switched = await identity.post('/auth/switch', { partnerId }, { bearer: mover.bearer });
    const { bearer } = sessionOf(expectStatus(switched, 200));
    const change = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
    expectStatus(await identity.post('/auth/change-password', change, { bearer }), 200);

    const refreshToken = cookiesOf(expectStatus(await login(NEW_PASSWORD), 200)).service_refresh_token;
    expectStatus(await identity.post('/auth/refresh', { refreshToken }), 200);
    expectStatus(await identity.post('/auth/refresh', { refreshToken }), 401);

    const last = sessionOf(expectStatus(await login(NEW_PASSWORD), 200));
    const move = { email: freshEmail('moved'), currentPassword: NEW_PASSWORD };
    expectStatus(await identity.patch('/users/me', move, { bearer: last.bearer }), 200);
    expectStatus(await identity.post('/auth/logout', undefined, { bearer: last.bearer }), 200);
  };

  const ofAction = (action: string, who: Who, result = 'success', reason?: string) =>
    rows.filter(
      (row) =>
        row.action === action &&
        row.actorId === users[who]?.userId &&
        row.result === result &&
        (reason === undefined || row.reason === reason),
    );

  it.each(EXPECTED)(
    '%s by %s names actor, resource and client',
    (action, who, resourceType, result = 'success', reason) => {
      const found = ofAction(action, who, result, reason);
      expect(found).not.toEqual([]);
      for (const row of found) {
        const request = called.get(row.requestId ?? '');
        expect(row).toMatchObject({ actorType: 'user', actorEmail: users[who]?.email, resourceType });
        if (resourceType !== 'route') expect(row.resourceId).toEqual(expect.any(String));
        expect({ ipAddress: row.ipAddress, userAgent: row.userAgent }).toEqual({
          ipAddress: request?.from,
          userAgent: USER_AGENT,
        });
      }
    },
  );

  it('name the submitted address when the user is unknown', () => {
    const found = rows.filter(({ action }) => action === 'auth.registration.requested');
    expect(found).toEqual([expect.objectContaining({ actorId: null, actorEmail: users.admin?.email })]);
  });

  it('are written by the use case and never by the fallback', () => {
    const fallbacks = rows.filter(({ action }) => action.startsWith('request.'));
    expect(fallbacks.map(({ canonical }) => canonical)).toEqual([]);
  });

  it('contain no password, token, code or secret', () => {
    expect([...secrets]).toEqual(expect.arrayContaining([PASSWORD, NEW_PASSWORD, WRONG_PASSWORD]));
    expect(secrets.size).toBeGreaterThan(40);
    const leaks = [...secrets].flatMap((secret) => {
      // An id may contain six digits; a standalone code must not occur.
      const alone = new RegExp(`(?<![\\w-])${secret.replace(/[^\w]/g, '\\$&')}(?![\\w-])`);
      return rows.filter(({ canonical }) => alone.test(canonical)).map(({ action }) => `${action}: ${secret}`);
    });
    expect(leaks).toEqual([]);
  });
});
