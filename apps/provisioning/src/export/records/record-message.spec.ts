import { randomUUID } from 'node:crypto';
import { RECORD_SCHEMAS } from '@rmm/contracts';
import { readRecordMessage } from './record-message.js';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const [orgId, deviceId, siteId] = [randomUUID(), randomUUID(), randomUUID()];

const POLICY = { name: 'P', status: 'active', features: [{ id: 'f', type: 'patching', settings: { a: [1] } }] };
const RECORDS: Record<keyof typeof RECORD_SCHEMAS, object> = {
  'device-inventory': { subjectType: 'device', deviceId, disks: [{ id: 'd' }] },
  'device-software': { deviceId, software: [{ id: 's', name: 'Editor' }] },
  'device-relationships': { deviceId, edges: [] },
  'configuration-policies': POLICY,
  'configuration-assignments': { policyId: 'p', level: 'site', targetId: 't' },
  automations: { name: 'A', enabled: true, dependencies: [{ resource: 'scripts', id: 's' }] },
  'backup-configurations': { kind: 'policy', name: 'B', enabled: false },
  'custom-fields': { name: 'F', fieldKey: 'f', type: 'text', required: false },
};

const message = (resource: string, over: object = {}) => ({
  schemaVersion: 1,
  messageId: randomUUID(),
  resource,
  id: randomUUID(),
  partnerId: randomUUID(),
  orgId,
  updatedAt: '2026-03-01T11:00:00+00:00',
  record: RECORDS[resource as keyof typeof RECORDS],
  ...over,
});
const read = (resource: string, over: object = {}, change = 'upsert') =>
  readRecordMessage({ resource, change }, message(resource, over), NOW);
const recordOf = (resource: string, record: object, over: object = {}) => {
  const result = read(resource, { record, ...over });
  if (!result.ok) throw new Error(result.reason);
  return result.record;
};

describe('readRecordMessage', () => {
  it.each(Object.keys(RECORDS))('accepts a record of %s and completes it with null', (resource) => {
    const result = read(resource);
    expect(result).toMatchObject({ ok: true, record: { resource, orgId } });
    expect(JSON.stringify(result)).not.toContain('undefined');
  });

  it('keeps the fields of the resource only', () => {
    const { record } = recordOf('configuration-policies', { ...POLICY, password: 'x', features: [] });
    expect(record).toEqual({ sourceScope: null, name: 'P', description: null, status: 'active', features: [] });
  });

  it.each([
    [{ schemaVersion: 2 }, 'unknown schemaVersion'],
    [{ schemaVersion: undefined }, 'unknown schemaVersion'],
    [{ messageId: undefined }, 'invalid message: messageId'],
    [{ id: 'x' }, 'invalid message: id'],
    [{ partnerId: null }, 'invalid message: partnerId'],
    [{ orgId: 7 }, 'invalid message: orgId'],
    [{ updatedAt: 'yesterday' }, 'invalid message: updatedAt'],
    [{ updatedAt: '2026-03-01T11:00:00' }, 'invalid message: updatedAt'],
    [{ updatedAt: '1969-03-01T11:00:00Z' }, 'updatedAt is before 1970'],
    [{ updatedAt: '2026-03-02T12:00:00.001Z' }, 'updatedAt lies in the future'],
    [{ orgId: null, siteId }, 'a record of the partner has no site'],
    [{ record: undefined }, 'invalid record'],
    [{ record: [] }, 'invalid record'],
    [{ record: { ...POLICY, status: 'paused' } }, 'invalid record: status'],
    [{ record: { ...POLICY, name: '' } }, 'invalid record: name'],
    [{ record: { ...POLICY, name: 'a\u0000b' } }, 'invalid record: cannot be stored'],
    [{ record: { ...POLICY, features: [{ id: 'f' }] } }, 'invalid record: features.0.type'],
  ])('refuses a policy with %j', (over, reason) => {
    expect(read('configuration-policies', over)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  });

  it.each([
    ['device-inventory', { record: { subjectType: 'rack' } }, 'subjectType'],
    ['device-inventory', { record: { subjectType: 'device' } }, 'deviceId is required'],
    ['device-inventory', { deviceId: siteId }, 'deviceId differs'],
    ['device-inventory', { orgId: null }, 'orgId is required'],
    ['device-inventory', { record: { subjectType: 'site' } }, 'siteSubjectId is required'],
    ['device-inventory', { record: { subjectType: 'site', siteSubjectId: siteId }, siteId: orgId }, 'differ'],
    ['device-relationships', { record: { edges: [{ key: 'k', type: 'friend' }] } }, 'edges.0.type'],
    ['device-software', { record: { deviceId, software: [{ id: 's' }] } }, 'software.0.name'],
    [
      'backup-configurations',
      { record: { kind: 'destination', name: 'B', type: 'file', provider: 'ftp' } },
      'provider',
    ],
    ['custom-fields', { record: { name: 'F', fieldKey: 'f', type: 'color', required: false } }, 'type'],
    ['configuration-assignments', { record: { policyId: 'p', level: 'planet' } }, 'level'],
    ['automations', { record: { name: 'A', enabled: 'yes' } }, 'enabled'],
    ['weather', {}, 'unknown resource'],
    ['constructor', {}, 'unknown resource'],
  ])('refuses a record of %s with %j', (resource, over, reason) => {
    expect(read(resource, over)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  });

  it('does not repeat a value in the reason', () => {
    const result = read('configuration-policies', { record: { ...POLICY, status: 'my-secret' } });
    expect(JSON.stringify(result)).not.toContain('my-secret');
  });

  it('takes the device or the site from the record or from the message', () => {
    expect(recordOf('device-software', { software: [] }, { deviceId })).toMatchObject({
      deviceId,
      record: { deviceId },
    });
    expect(recordOf('device-relationships', {}, { siteId })).toMatchObject({
      siteId,
      deviceId: null,
      record: { siteSubjectId: siteId, deviceId: null },
    });
    expect(recordOf('device-inventory', { subjectType: 'site', siteSubjectId: siteId })).toMatchObject({ siteId });
  });

  it('cuts collections to what is exported and keeps the number of all', () => {
    const items = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `${n}`, name: 'x' }));
    const software = recordOf('device-software', { deviceId, software: items(1_001) }).record as never;
    expect(software).toMatchObject({ software: { length: 1_000 }, collection: { total: 1_001 } });
    const inventory = recordOf('device-inventory', {
      subjectType: 'device',
      deviceId,
      disks: items(501),
      interfaces: items(2),
      collections: { interfaces: { total: 9 } },
    }).record as never;
    expect(inventory).toMatchObject({
      disks: { length: 500 },
      collections: { disks: { total: 501 }, interfaces: { total: 9 }, addresses: { total: 0 } },
    });
  });

  it('reads a deletion without a record', () => {
    const result = read('device-inventory', { record: undefined }, 'delete');
    expect(result).toMatchObject({ ok: true, record: { record: null, updatedAt: new Date('2026-03-01T11:00:00Z') } });
  });
});
