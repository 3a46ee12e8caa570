import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import {
  AUDIT_ENTRIES,
  MAX_MESSAGE_BYTES,
  type AuditEntries,
  type AuditEntry,
  type IdentifiedAuditEntry,
} from '@rmm/contracts';
import { TenantDatabase, type TenantContext } from '@rmm/persistence';
import { currentContext, runInContext } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { startMessagingTestApp, storedMessages, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { AuditTrail, resourceOf, type AuditedChange } from './audit-trail.service.js';

const partnerId = randomUUID();
const orgId = randomUUID();
const tenant: TenantContext = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: null };
const caller = { tenant, actor: { type: 'user' as const, id: randomUUID(), email: 'ann@example.com' } };

describe('AuditTrail', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;
  let audit: AuditTrail;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
    audit = app.get(AuditTrail);
  });
  afterAll(() => testApp.stop(), 30_000);

  const bodies = async (stream: string) => (await storedMessages(testApp.connection, stream)).map(({ body }) => body);

  it('writes an audit entry in the transaction, without secrets, and marks the request as audited', async () => {
    const context = { requestId: 'req-2', ipAddress: '203.0.113.9', userAgent: 'spec' };
    await runInContext(context, async () => {
      const details = { newPassword: 'hunter2', scopes: ['devices:read'] };
      const resource = { type: 'api_key', id: 'k1', name: 'CI', orgId };
      await app
        .get(TenantDatabase)
        .transaction({ tenant }, (tx) => audit.record(tx, caller, 'api_key.create', resource, details));
      expect(currentContext()?.audited).toBe(true);
    });
    await audit.recordDirect(caller, 'site.delete', { type: 'site' }, {}, 'denied', 'Permission denied');
    await eventually(async () => {
      const rows = (await bodies('RMM_AUDIT')).slice(-2);
      expect(rows.map((row) => [row.type, row.partnerId, row.orgId])).toEqual([
        ['api_key.create', partnerId, orgId],
        ['site.delete', partnerId, null],
      ]);
      expect(rows[0].data).toMatchObject({
        actor: caller.actor,
        resourceId: 'k1',
        details: { newPassword: '[removed]', scopes: ['devices:read'] },
        ipAddress: '203.0.113.9',
        result: 'success',
        requestId: 'req-2',
      });
      expect(rows[1].data).toMatchObject({ result: 'denied', errorMessage: 'Permission denied' });
    });
  });

  it('writes no entry of a transaction that is rolled back', async () => {
    const resource = { type: 'site', id: randomUUID() };
    const rolledBack = app.get(TenantDatabase).transaction({ tenant }, async (tx) => {
      await audit.record(tx, caller, 'site.create', resource);
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    await audit.recordDirect(caller, 'site.delete', resource);
    await eventually(async () => {
      const found = (await bodies('RMM_AUDIT')).filter(({ aggregateId }) => aggregateId === resource.id);
      expect(found.map(({ type }) => type)).toEqual(['site.delete']);
    });
  });

  it('takes the tenant of the resource before that of the caller, also when it has none', () => {
    const of = (resource: object) => {
      const message = audit.toMessage(caller, 'site.update', { type: 'site', ...resource });
      return [message.partnerId, message.orgId, message.aggregateId];
    };
    const other = randomUUID();
    expect(of({ id: 's1' })).toEqual([partnerId, null, 's1']);
    expect(of({ id: 's1', orgId, partnerId: other })).toEqual([other, orgId, 's1']);
    expect(of({ orgId })).toEqual([partnerId, orgId, orgId]);
    expect(of({ partnerId: null })).toEqual([null, null, 'platform']);
    expect(of({ ...resourceOf('site', { id: 's2', name: 'Main', orgId, partnerId }) })).toEqual([
      partnerId,
      orgId,
      's2',
    ]);
  });

  describe('many entries', () => {
    const messagesOf = (count: number, text = '') => {
      const changes = Array.from({ length: count }, (_, n): AuditedChange => {
        return [caller, 'site.create', { type: 'site', id: `s${n}`, orgId }, { text }];
      });
      return [...audit.toMessages(changes)];
    };
    const entriesOf = ({ type, data }: { type: string; data: object }) =>
      type === AUDIT_ENTRIES ? (data as AuditEntries).entries : [data as AuditEntry];

    it('shares a message between up to 50 of them, in their order', () => {
      const messages = messagesOf(120);
      expect(messages.map((message) => entriesOf(message).length)).toEqual([50, 50, 20]);
      expect(messages[0]).toMatchObject({ type: 'audit.entries', aggregateId: partnerId, partnerId, orgId: null });
      const entries = messages.flatMap(entriesOf) as IdentifiedAuditEntry[];
      expect(entries.map(({ resourceId }) => resourceId)).toEqual(Array.from({ length: 120 }, (_, n) => `s${n}`));
      expect(entries[0]).toMatchObject({ orgId, action: 'site.create', actor: caller.actor, result: 'success' });
      expect(new Set(entries.map(({ id }) => id)).size).toBe(120);
    });

    it('shares a message between fewer when they are long, so that each can be sent', () => {
      const messages = messagesOf(60, '\uffff'.repeat(1_999));
      expect(messages.flatMap(entriesOf)).toHaveLength(60);
      const sizes = messages.map((message) => Buffer.byteLength(JSON.stringify(message)));
      expect(Math.max(...sizes)).toBeLessThan(MAX_MESSAGE_BYTES / 2);
    });

    it('is the message of the entry for a single one, and has none for no entry', () => {
      expect(messagesOf(1)).toMatchObject([
        { type: 'site.create', aggregateId: 's0', orgId, data: { resourceId: 's0' } },
      ]);
      expect(messagesOf(0)).toEqual([]);
    });

    it('does not mix partners in a message', () => {
      const other = randomUUID();
      const of = (partner: string): AuditedChange => [caller, 'site.create', { type: 'site', partnerId: partner }];
      const messages = [...audit.toMessages([of(partnerId), of(partnerId), of(other), of(other), of(partnerId)])];
      expect(messages.map((message) => [message.partnerId, entriesOf(message).length])).toEqual([
        [partnerId, 2],
        [other, 2],
        [partnerId, 1],
      ]);
    });
  });

  it('names the user who acts, and none for the system', () => {
    const initiatedBy = (type: 'user' | 'system', id: string | null) =>
      audit.toMessage({ tenant, actor: { type, id } }, 'site.update', { type: 'site' }).data.initiatedBy;
    expect(initiatedBy('user', 'u1')).toBe('u1');
    expect(initiatedBy('system', null)).toBeNull();
  });

  it('stores names and user agents as one line of limited length', () => {
    const context = { requestId: 'req-3', userAgent: `a\r\nb${'x'.repeat(1_000)}` };
    const { data } = runInContext(context, () =>
      audit.toMessage(caller, 'site.update', { type: 'site', name: `Main\u0000\n${'y'.repeat(500)}` }),
    );
    expect(data.resourceName).toMatch(/^Main y+$/);
    expect(data.resourceName).toHaveLength(255);
    expect(data.userAgent).toMatch(/^a bx+$/);
    expect(data.userAgent).toHaveLength(512);
  });
});
