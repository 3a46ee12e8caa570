import { FixedClock } from '@rmm/service-kit';
import { ExportCursors, type Walk } from './export-cursors.js';

const walk: Walk = { resource: 'sites', partnerId: 'p-1', orgId: null, updatedSince: null };
const position = {
  snapshotAt: '2026-03-01T12:00:00.000Z',
  after: { id: 's-1', orgId: 'o-1', updatedAt: '2026-03-01T11:00:00.000Z' },
};
const REFUSED = expect.objectContaining({ status: 400, code: 'invalid_partner_export_cursor' });

describe('a cursor of the partner interface', () => {
  const clock = new FixedClock('2026-03-01T12:00:00.000Z');
  const cursors = new ExportCursors({ cursorSigningKey: 'k'.repeat(32) }, clock);
  const cursor = cursors.encode(walk, position);

  it('goes on where its page ended', () => {
    expect(cursors.decode(cursor, walk)).toEqual(position);
  });

  it('works in another replica with the same key, and under no other key', () => {
    expect(new ExportCursors({ cursorSigningKey: 'k'.repeat(32) }, clock).decode(cursor, walk)).toEqual(position);
    const other = new ExportCursors({ cursorSigningKey: 'l'.repeat(32) }, clock);
    expect(() => other.decode(cursor, walk)).toThrow(REFUSED);
  });

  it.each([
    ['another resource', { resource: 'organizations' }],
    ['another partner', { partnerId: 'p-2' }],
    ['another filter', { orgId: 'o-1' }],
    ['another kind of walk', { updatedSince: '2026-02-01T00:00:00.000Z' }],
  ])('is refused for %s', (_, change) => {
    expect(() => cursors.decode(cursor, { ...walk, ...change })).toThrow(REFUSED);
  });

  it('is refused when it was written by somebody else', () => {
    const [body, signature] = cursor.split('.');
    const forged = Buffer.from(JSON.stringify({ version: 1, ...walk, ...position, expiresAt: '2099-01-01' })).toString(
      'base64url',
    );
    for (const bad of [
      `${forged}.${signature}`,
      `${body}.${signature.slice(1)}`,
      body,
      `${cursor}.x`,
      '.',
      'nonsense',
      'é.é',
    ]) {
      expect(() => cursors.decode(bad, walk)).toThrow(REFUSED);
    }
  });

  it('lives 24 hours from the snapshot, however far the walk is', () => {
    const later = cursors.encode(walk, { ...position, after: { ...position.after, id: 's-900' } });
    clock.set('2026-03-02T12:00:00.000Z');
    expect(cursors.decode(later, walk).after.id).toBe('s-900');
    clock.set('2026-03-02T12:00:00.001Z');
    expect(() => cursors.decode(later, walk)).toThrow(REFUSED);
    clock.set('2026-03-01T12:00:00.000Z');
  });
});
