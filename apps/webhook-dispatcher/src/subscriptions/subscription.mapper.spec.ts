import { createHash } from 'node:crypto';
import { KeyRing } from '@rmm/secrets';
import { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import { openSubscription, type SubscriptionRow } from './subscription.mapper.js';

const ID = '00000000-0000-4000-8000-000000000001';
const NOW = Date.parse('2026-11-20T10:00:00.000Z');

describe('openSubscription', () => {
  const sealing = new WebhookSealingService(ringOf('one key'));
  const lost = new WebhookSealingService(ringOf('another key'));
  const row = (changes: Partial<SubscriptionRow> = {}): SubscriptionRow => ({
    id: ID,
    partnerId: 'p',
    orgId: ID,
    urlSealed: sealing.sealUrl(ID, 'https://hooks.example.com/a'),
    secretSealed: sealing.sealSecret(ID, 'new'),
    previousSecretSealed: sealing.sealSecret(ID, 'old'),
    secretOverlapUntil: new Date(NOW + 1),
    standardWebhooks: false,
    headers: [],
    events: ['*'],
    status: 'active',
    retryPolicy: null,
    ...changes,
  });
  const open = (changes: Partial<SubscriptionRow>) => openSubscription(row(changes), sealing, NOW);

  it('opens the previous secret with its end while they overlap', () => {
    expect(open({}).previousSecret).toMatchObject({ untilMs: NOW + 1 });
    expect(open({ secretOverlapUntil: new Date(NOW) }).previousSecret).toBeNull();
  });

  it('opens without a previous secret whose overlap has ended, but not without one that must sign', () => {
    const previousSecretSealed = lost.sealSecret(ID, 'old');
    expect(open({ previousSecretSealed, secretOverlapUntil: new Date(NOW) }).secret).not.toBeNull();
    expect(() => open({ previousSecretSealed })).toThrow();
  });

  it('derives the keys of Standard Webhooks for both secrets only when enabled', () => {
    const asked = open({ standardWebhooks: true });
    expect([asked.secret?.standard, asked.previousSecret?.standard]).not.toContain(null);
    const plain = open({});
    expect([plain.secret?.standard, plain.previousSecret?.standard]).toEqual([null, null]);
  });
});

function ringOf(text: string): KeyRing {
  return new KeyRing({ keys: { spec: createHash('sha256').update(text).digest() }, activeKid: 'spec' });
}
