import { decodeEnvelope } from './decode-envelope.js';

const message = {
  id: 'm1',
  type: 'device.online',
  timestamp: '2026-01-01T00:00:00.000Z',
  orgId: 'o1',
  partnerId: 'p1',
  data: {},
};
const subject = 'rmm.events.o1.device.online';
const decode = (over: object, on = subject) => decodeEnvelope(on, JSON.stringify({ ...message, ...over }));

describe('decodeEnvelope', () => {
  it('fills in the fields that publishers outside the fleet omit', () => {
    expect(decode({})).toMatchObject({
      ok: true,
      envelope: { id: 'm1', schemaVersion: 1, aggregateId: 'o1', aggregateVersion: 0 },
    });
  });

  it.each([
    [{ orgId: 'o2' }, subject],
    [{ orgId: null }, subject],
    [{ type: 'device.offline' }, subject],
    [{}, 'rmm.internal.identity.partner.created'],
    [{ data: [] }, subject],
    [{ timestamp: 'yesterday' }, subject],
    [{ id: '' }, subject],
  ])('refuses %j on %s', (over, on) => {
    expect(decode(over, on).ok).toBe(false);
  });

  it('wraps a record in an envelope', () => {
    const record = {
      schemaVersion: 1,
      messageId: 'r1',
      resource: 'device-software',
      id: 'd1',
      partnerId: 'p1',
      updatedAt: '2026-01-01T00:00:00.000Z',
      record: {},
    };
    expect(decodeEnvelope('rmm.records.device-software.upsert', JSON.stringify(record))).toMatchObject({
      ok: true,
      envelope: { id: 'r1', type: 'device-software.upsert', aggregateId: 'device-software/d1', data: record },
    });
    expect(decodeEnvelope('rmm.records.automations.upsert', JSON.stringify(record)).ok).toBe(false);
  });

  it('passes a record on that is incomplete or of another version, for its handler to refuse', () => {
    const given = { schemaVersion: 2, resource: 'automations', updatedAt: 'yesterday' };
    expect(decodeEnvelope('rmm.records.automations.delete', JSON.stringify(given))).toMatchObject({
      ok: true,
      envelope: { id: 'automations/unknown', type: 'automations.delete', schemaVersion: 1, data: given },
    });
  });
});
