import { createHash } from 'node:crypto';
import { KeyRing } from '@rmm/secrets';
import { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import { openSubscription, type SubscriptionRow } from './subscription.js';

const ID = '00000000-0000-4000-8000-000000000001';
const NOW = Date.parse('2026-11-20T10:00:00.000Z');

describe('openSubscription', () => {
  const sealing = new WebhookSealingService(ringOf('one key'));
  const lost = new WebhookSealingService(ringOf('another key'));
  const row = (changes: Partial<SubscriptionRow> = {}): SubscriptionRow => ({
    id: ID,
    partner_id: 'p',
    org_id: ID,
    url_sealed: sealing.sealUrl(ID, 'https://hooks.example.com/a'),
    secret_sealed: sealing.sealSecret(ID, 'new'),
    previous_secret_sealed: sealing.sealSecret(ID, 'old'),
    secret_overlap_until: new Date(NOW + 1),
    standard_webhooks: false,
    headers: [],
    events: ['*'],
    status: 'active',
    retry_policy: null,
    ...changes,
  });
  const open = (changes: Partial<SubscriptionRow>) => openSubscription(row(changes), sealing, NOW);

  it('takes the previous secret and its end along while they overlap', () => {
    expect(open({}).previousSecret).toMatchObject({ untilMs: NOW + 1 });
    expect(open({ secret_overlap_until: new Date(NOW) }).previousSecret).toBeNull();
  });

  it('works without a previous secret whose time and key are gone, but not without one that must sign', () => {
    const previous_secret_sealed = lost.sealSecret(ID, 'old');
    expect(open({ previous_secret_sealed, secret_overlap_until: new Date(NOW) }).secret).not.toBeNull();
    expect(() => open({ previous_secret_sealed })).toThrow();
  });

  it('works out keys of Standard Webhooks for both secrets, and only where they are asked for', () => {
    const asked = open({ standard_webhooks: true });
    expect([asked.secret?.standard, asked.previousSecret?.standard]).not.toContain(null);
    const plain = open({});
    expect([plain.secret?.standard, plain.previousSecret?.standard]).toEqual([null, null]);
  });
});

function ringOf(text: string): KeyRing {
  return new KeyRing({ keys: { spec: createHash('sha256').update(text).digest() }, activeKid: 'spec' });
}
