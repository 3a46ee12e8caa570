import { randomUUID } from 'node:crypto';
import { readPartner } from './directory-partner.js';

const state = {
  partnerId: randomUUID(),
  name: 'Acme MSP',
  slug: 'acme-msp',
  status: 'suspended',
  maxOrganizations: 5,
  maxDevices: null,
  timezone: 'Europe/Berlin',
  settings: { enrollment: { maxTtlMinutes: 60 } },
  version: 7,
};

describe('readPartner', () => {
  it('reads every field', () => {
    const { settings, ...rest } = state;
    expect(readPartner(state)).toEqual({ entry: { ...rest, enrollmentMaxTtlMinutes: 60 }, malformed: [] });
  });

  it.each([undefined, null, {}, { enrollment: null }, { enrollment: {} }])(
    'reads no cap from settings %j',
    (settings) => {
      expect(readPartner({ ...state, settings })).toMatchObject({
        entry: { enrollmentMaxTtlMinutes: null },
        malformed: [],
      });
    },
  );

  it.each(['x', 1.5, 0, -1, true, {}, [], 1e12, 2_147_483_648])(
    'uses the strictest cap for maxTtlMinutes %j',
    (bad) => {
      expect(readPartner({ ...state, settings: { enrollment: { maxTtlMinutes: bad } } })).toMatchObject({
        entry: { status: 'suspended', enrollmentMaxTtlMinutes: 1 },
        malformed: ['settings.enrollment.maxTtlMinutes'],
      });
    },
  );

  it.each(['x', 5, [], { enrollment: 'x' }, { enrollment: [] }])(
    'uses the strictest cap for settings %j',
    (settings) => {
      expect(readPartner({ ...state, settings })).toMatchObject({ entry: { enrollmentMaxTtlMinutes: 1 } });
    },
  );

  it.each(['maxOrganizations', 'maxDevices'])('uses zero for a %s that is no cap', (field) => {
    for (const bad of ['5', -1, 1.5, undefined, {}, 2 ** 31]) {
      expect(readPartner({ ...state, [field]: bad })).toMatchObject({ entry: { [field]: 0 }, malformed: [field] });
    }
  });

  it.each(['a\0b', '\ud800', 7, null, 'x'.repeat(1_001)])('leaves a name empty that cannot be stored: %j', (name) => {
    expect(readPartner({ ...state, name })).toMatchObject({
      entry: { name: '', status: 'suspended' },
      malformed: ['name'],
    });
  });

  it.each([
    ['no object', 'x'],
    ['nothing', null],
    ['an unknown status', { ...state, status: 'open' }],
    ['no status', { ...state, status: undefined }],
    ['no version', { ...state, version: '7' }],
    ['no id', { ...state, partnerId: 'p' }],
  ])('returns null for %s', (_, data) => expect(readPartner(data)).toBeNull());
});
