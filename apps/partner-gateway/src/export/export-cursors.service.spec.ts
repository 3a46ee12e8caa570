import { FixedClock } from '@rmm/testing-services';
import { ExportCursorsService, type ExportScope } from './export-cursors.service.js';

const scope: ExportScope = { resource: 'sites', partnerId: 'p-1', orgId: null, updatedSince: null };
const position = {
  snapshotAt: '2026-03-01T12:00:00.000Z',
  after: { id: 's-1', orgId: 'o-1', updatedAt: '2026-03-01T11:00:00.000Z' },
};
const REFUSED = expect.objectContaining({ status: 400, code: 'invalid_partner_export_cursor' });

describe('ExportCursorsService', () => {
  const clock = new FixedClock('2026-03-01T12:00:00.000Z');
  const cursors = new ExportCursorsService({ cursorSigningKey: 'k'.repeat(32) }, clock);
  const cursor = cursors.encode(scope, position);

  it('returns the position a cursor was created from', () => {
    expect(cursors.decode(cursor, scope)).toEqual(position);
  });

  it('accepts cursors of a replica with the same key and refuses others', () => {
    expect(new ExportCursorsService({ cursorSigningKey: 'k'.repeat(32) }, clock).decode(cursor, scope)).toEqual(
      position,
    );
    const other = new ExportCursorsService({ cursorSigningKey: 'l'.repeat(32) }, clock);
    expect(() => other.decode(cursor, scope)).toThrow(REFUSED);
  });

  it.each([
    ['another resource', { resource: 'organizations' }],
    ['another partner', { partnerId: 'p-2' }],
    ['another filter', { orgId: 'o-1' }],
    ['a site', { siteId: 's-1' }],
    ['another kind of scope', { updatedSince: '2026-02-01T00:00:00.000Z' }],
  ])('is refused for %s', (_, change) => {
    expect(() => cursors.decode(cursor, { ...scope, ...change })).toThrow(REFUSED);
  });

  it('refuses a forged cursor', () => {
    const [body, signature] = cursor.split('.');
    const forged = Buffer.from(JSON.stringify({ version: 1, ...scope, ...position, expiresAt: '2099-01-01' })).toString(
      'base64url',
    );
    for (const bad of [
      `${forged}.${signature}`,
      `${body}.${signature.slice(1)}`,
      body,
      `${cursor}.x`,
      `${cursor}=`,
      `${cursor}==`,
      `${cursor}!!`,
      `${cursor} `,
      `${body}. ${signature}`,
      '.',
      'nonsense',
      'é.é',
    ]) {
      expect(() => cursors.decode(bad, scope)).toThrow(REFUSED);
    }
  });

  it('accepts a cursor for 24 hours from the snapshot, on every page', () => {
    const later = cursors.encode(scope, { ...position, after: { ...position.after, id: 's-900' } });
    clock.set('2026-03-02T12:00:00.000Z');
    expect(cursors.decode(later, scope).after.id).toBe('s-900');
    clock.set('2026-03-02T12:00:00.001Z');
    expect(() => cursors.decode(later, scope)).toThrow(REFUSED);
    clock.set('2026-03-01T12:00:00.000Z');
  });
});
