import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient, registerPartner } from '@rmm/testing';
import { createApiKey } from '../credentials/machines.js';
import { EventPublisher } from '../outages/event-publisher.js';
import { refuseStreamMessages } from '../outages/stream-limits.js';
import { createWebhook, must } from '../steps.js';
import { publishPartnerEvent, query } from '../tenancy/tenant-state.js';
import { eventsFor } from '../webhooks/webhook-tenants.js';
import { AlertDrill, describeDrills } from './alert-drill.js';
import { PostgresProcesses } from './postgres-processes.js';
import { limitStreamStorage } from './stream-storage.js';

jest.setTimeout(600_000);

/** Rules of hours are seen within minutes. */
const PERIOD_DIVISOR = 30;
/** More accounts than the rule of locks allows, with the attempts that lock each. */
const ACCOUNTS = 22;
const WRONG_PASSWORDS = 5;
/** The dispatcher keeps 20,000 of them; the others are more than the rule allows to wait in the stream. */
const LATE_EVENTS = 33_000;
/** Longer than the objective of a first attempt. */
const HANG_MS = 33_000;
/** Events so large that what else is published changes their share of the storage little. */
const LARGE_EVENTS = 40;
const LARGE = { note: 'x'.repeat(240_000) };
const DEVICES = { resource: 'devices', action: 'read' };
const SITES = { resource: 'sites', action: 'read' };

describeDrills('the alerts of a fleet that is broken on purpose', () => {
  let drill: AlertDrill;
  let mailbox: string;
  let postgres: PostgresProcesses | undefined;

  beforeAll(async () => {
    drill = await AlertDrill.start([], PERIOD_DIVISOR);
    mailbox = join(drill.fleet.dir, 'dev/mailbox');
  });
  afterAll(() => drill?.stop());

  const openMailbox = async () => {
    if (!existsSync(`${mailbox}-away`)) return;
    await rm(mailbox);
    await rename(`${mailbox}-away`, mailbox);
  };

  /** Undoes what a failed test has left. */
  afterEach(async () => {
    await openMailbox();
    postgres?.resume();
    await drill.resume();
  });

  const anonymous = () => new ApiClient(drill.fleet.handle.baseUrl);
  const login = (email: string, password: string) => anonymous().post('/auth/login', { email, password });

  /** Creates a role. @returns a function that changes what it allows */
  const createRole = async () => {
    const { client } = drill.partner;
    const { id } = must(await client.post('/roles', { name: `Role ${randomUUID()}`, permissions: [DEVICES] }), 201);
    let isWide = false;
    return async () => {
      isWide = !isWide;
      await client.patch(`/roles/${id}`, { permissions: isWide ? [DEVICES, SITES] : [DEVICES] });
      await sleep(200);
    };
  };

  it('end once the fleet works', () => drill.untilQuiet());

  it('report a service that hangs', async () => {
    await drill.signal('webhook-dispatcher', 'SIGSTOP');
    await drill.expectAlerts(['ServiceMissing', 'WebhookPartitionsWithoutOwner']);
    await drill.signal('webhook-dispatcher', 'SIGCONT');
    await drill.untilOver('ServiceMissing', 'WebhookPartitionsWithoutOwner');
  });

  it('report guessed passwords, locked accounts, overload and unknown keys', async () => {
    const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => registerPartner(drill.fleet.handle)));
    const guess = async () => {
      for (let n = 0; n < WRONG_PASSWORDS; n++) {
        await Promise.all(accounts.map(({ email }) => login(email, `wrong-${randomUUID()}`)));
      }
    };
    await drill.expectAlerts(['AccountLocksRising', 'PasswordGuessing'], guess);
    const flood = () =>
      Promise.all(Array.from({ length: 400 }, () => login(`${randomUUID()}@unknown.test`, 'wrong-password-1')));
    await drill.expectAlerts(['PasswordHashingOverloaded'], flood);
    const { key } = await createApiKey(drill.partner.client, drill.orgId);
    const unknown = async () => {
      const apiKey = key.slice(0, -8) + randomUUID().slice(0, 8);
      await Promise.all(
        Array.from({ length: 10 }, () => anonymous().as({ apiKey }).get(`/devices/${randomUUID()}/custom-fields`)),
      );
      await sleep(200);
    };
    await drill.expectAlerts(['CredentialsRefused'], unknown);
  });

  it('report a Redis that hangs, and sign-ins that fail without it', async () => {
    await drill.fleet.signalStore('redis', 'SIGSTOP');
    const alerts = ['ServiceNotReady', 'DependencyDown', 'RateLimitsFailClosed'];
    const burns = ['AvailabilityBudgetBurnsFast', 'AvailabilityBudgetBurnsSlowly'];
    await drill.expectAlerts([...alerts, ...burns], () => login(drill.partner.email, drill.partner.password));
    await drill.fleet.signalStore('redis', 'SIGCONT');
    await drill.untilOver('ServiceNotReady', 'DependencyDown');
  });

  it('report mails that fail, wait and are given up', async () => {
    await rename(mailbox, `${mailbox}-away`);
    await writeFile(mailbox, 'no folder, so that no mail can be written');
    const register = async () => {
      const form = { companyName: 'Late', password: drill.partner.password, name: 'Pat Admin', acceptTerms: true };
      await anonymous().post('/auth/register-partner', { ...form, email: `${randomUUID()}@partner.test` });
    };
    await drill.expectAlerts(['MailsFail'], register);
    await query(
      drill.fleet.handle,
      'UPDATE identity.mail SET attempts = 7, next_attempt_at = now() WHERE sent_at IS NULL',
    );
    await drill.expectAlerts(['MailsAbandoned'], register);
    await drill.fleet.signalStore('redis', 'SIGSTOP');
    const delay = `UPDATE identity.mail SET next_attempt_at = now() - interval '6 minutes', attempts = 1
      WHERE sent_at IS NULL AND abandoned_at IS NULL`;
    await query(drill.fleet.handle, delay);
    await drill.expectAlerts(['MailsDelayed']);
    await openMailbox();
    await drill.fleet.signalStore('redis', 'SIGCONT');
    await drill.untilOver('MailsDelayed', 'ServiceNotReady');
  });

  it('report events that cannot be read or handled', async () => {
    const { partnerId } = await registerPartner(drill.fleet.handle);
    const readable = { partnerId, name: 'P', slug: 'p', status: 'active', maxDevices: null, settings: {} };
    await publishPartnerEvent(drill.fleet.handle, partnerId, { ...readable, maxOrganizations: 'many', version: 50 });
    await publishPartnerEvent(drill.fleet.handle, partnerId, { partnerId, status: 7, version: 51 });
    await publishPartnerEvent(drill.fleet.handle, partnerId, { ...readable, maxOrganizations: 1, version: 52 }, 2);
    const ofTenants = ['TenantFieldMalformed', 'TenantChangeNotApplied'];
    await drill.expectAlerts([...ofTenants, 'MessageNotHandled', 'DeadLettersStored']);
  });

  it('report tables of tenants that differ from their owner, or cannot be compared with it', async () => {
    await query(
      drill.fleet.handle,
      `UPDATE credentials.partner_directory SET status = 'suspended', version = 0 WHERE partner_id = $1`,
      [drill.partner.partnerId],
    );
    await drill.signal('credentials', 'SIGKILL'); // it compares them when it starts
    await drill.expectAlerts(['TenantDirectoryHealed']);
    await drill.signal('identity', 'SIGSTOP');
    await drill.signal('credentials', 'SIGKILL');
    await drill.expectAlerts(['TenantDirectoryNotReconciled']);
    await drill.signal('identity', 'SIGCONT');
    await drill.untilOver('TenantDirectoryNotReconciled', 'ServiceNotReady');
  });

  it('report streams that refuse messages', async () => {
    const change = await createRole();
    const restore = await refuseStreamMessages(drill.fleet.handle);
    try {
      await drill.expectAlerts(['PublishingFails'], change);
    } finally {
      await restore();
    }
    await drill.untilOver('PublishingFails', 'MessagesDelayed', 'ServiceNotReady');
  });

  it('report streams that fill their storage, until the limit is raised', async () => {
    const events = eventsFor([{ orgId: drill.orgId, webhookIds: [] }], LARGE_EVENTS, LARGE);
    await new EventPublisher(drill.fleet.handle).publishAll(events);
    const restore = await limitStreamStorage(drill.fleet, 0.88);
    try {
      await drill.expectAlerts(['StreamsNearlyFull']);
      await limitStreamStorage(drill.fleet, 0.97);
      await drill.expectAlerts(['StreamsFull']);
    } finally {
      await restore();
    }
    await drill.untilOver('StreamsNearlyFull', 'StreamsFull', 'ServiceNotReady');
  });

  it('report a NATS that hangs, and changes that are late after it', async () => {
    const change = await createRole();
    await drill.fleet.signalStore('nats', 'SIGSTOP');
    await drill.expectAlerts(['BroadcastsDelayed', 'AccessFeedSilent', 'MessagesDelayed'], change);
    await drill.fleet.signalStore('nats', 'SIGCONT');
    await drill.expectAlerts(['RevocationBudgetBurnsFast', 'RevocationBudgetBurnsSlowly']);
    await drill.untilOver('BroadcastsDelayed', 'AccessFeedSilent', 'MessagesDelayed', 'ServiceNotReady');
  });

  it('report a PostgreSQL that hangs, and events that are late after it', async () => {
    const { client } = drill.partner;
    await createWebhook(client, drill.orgId, { url: await drill.receive(), events: ['alert.triggered'] });
    const events = eventsFor([{ orgId: drill.orgId, webhookIds: [] }], LATE_EVENTS);
    const { pid = NaN } = drill.fleet.handle.stores.find(({ name }) => name === 'postgres') ?? {};
    postgres = await PostgresProcesses.suspend(drill.fleet.handle.databaseUrl, pid);
    const since = performance.now();
    const publishing = new EventPublisher(drill.fleet.handle, 0).publishAll(events);
    const lists = () => Promise.all(Array.from({ length: 40 }, () => client.get('/orgs/organizations')));
    await drill.expectAlerts(['DatabasePoolExhausted', 'WebhookEventsNotTaken'], lists);
    await publishing;
    await sleep(Math.max(0, HANG_MS - (performance.now() - since)));
    postgres.resume();
    const burns = ['LatencyBudgetBurns', 'DeliveryAgeBudgetBurns'].flatMap((name) => [`${name}Fast`, `${name}Slowly`]);
    await drill.expectAlerts(['WebhookFirstAttemptsSlow', ...burns], lists);
    await drill.untilOver('DatabasePoolExhausted', 'ServiceNotReady');
  });
});
