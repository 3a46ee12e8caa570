import { randomBytes } from 'node:crypto';
import { isPseudonym, listNames, pseudonymOf, replaceNames } from './audit-pseudonyms.js';

const row = {
  actorEmail: 'pat@acme.test',
  resourceName: 'Reception PC',
  ipAddress: '192.0.2.1',
  details: {
    email: 'robin@acme.test',
    fields: ['name', 'settings'],
    hostname: 'pc-1',
    slug: 'acme',
    count: 2,
    contact: { phone: '1', role: 'billing' },
    nested: [{ displayName: 'Robin', id: 'x' }],
    reason: 'expired',
  },
};

describe('pseudonyms of audit entries', () => {
  it('replace names, addresses and what is inside of contacts, and nothing else', () => {
    const replaced = replaceNames(row, () => 'N');
    expect(replaced).toEqual({
      actorEmail: 'N',
      resourceName: 'N',
      ipAddress: 'N',
      details: {
        email: 'N',
        fields: ['name', 'settings'],
        hostname: 'N',
        slug: 'N',
        count: 2,
        contact: { phone: 'N', role: 'N' },
        nested: [{ displayName: 'N', id: 'x' }],
        reason: 'expired',
      },
    });
  });

  it('are found at the places of the names', () => {
    const salt = randomBytes(32);
    const names = listNames(row);
    const replaced = replaceNames(row, (name) => pseudonymOf(salt, name));
    expect(listNames(replaced)).toEqual(names.map((name) => pseudonymOf(salt, name)));
    expect(listNames(replaced).every(isPseudonym)).toBe(true);
    const byPseudonym = new Map(names.map((name) => [pseudonymOf(salt, name), name]));
    expect(replaceNames(replaced, (text) => byPseudonym.get(text) ?? text)).toEqual(row);
  });

  it('are the same for one name of an organization and others in another organization', () => {
    const [one, two] = [randomBytes(32), randomBytes(32)];
    expect(pseudonymOf(one, 'Acme')).toBe(pseudonymOf(one, 'Acme'));
    expect(pseudonymOf(one, 'Acme')).not.toBe(pseudonymOf(two, 'Acme'));
    expect(pseudonymOf(one, 'Acme')).not.toBe(pseudonymOf(one, 'acme'));
  });

  it('leave absent fields absent', () => {
    const empty = { actorEmail: null, resourceName: null, ipAddress: null, details: {} };
    expect(replaceNames(empty, () => 'N')).toEqual(empty);
  });
});
