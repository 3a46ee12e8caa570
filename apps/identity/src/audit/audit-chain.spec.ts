import { EMPTY_CHAIN, findFirstBreak, sealRows, type AuditRow } from './audit-chain.js';

const row = (id: string, details: Record<string, unknown> = {}): Omit<AuditRow, 'sequence'> => ({
  id,
  partnerId: 'p',
  orgId: null,
  timestamp: '2026-11-20T12:00:00.000Z',
  actorType: 'user',
  actorId: 'u',
  actorEmail: 'u@example.com',
  action: 'user.login',
  resourceType: 'user',
  resourceId: 'u',
  resourceName: null,
  details,
  ipAddress: '192.0.2.1',
  userAgent: null,
  result: 'success',
  errorMessage: null,
  initiatedBy: null,
  requestId: 'r',
});

const chain = () =>
  sealRows(
    EMPTY_CHAIN,
    ['a', 'b', 'c', 'd'].map((id) => row(id)),
  ).sealed;

describe('audit chain', () => {
  it('continues from the stored head', () => {
    const first = sealRows(EMPTY_CHAIN, [row('a')]);
    const second = sealRows(first.head, [row('b')]);
    expect(second.sealed[0]).toMatchObject({ sequence: 2, previousChecksum: first.head.checksum });
    expect(findFirstBreak(EMPTY_CHAIN, [...first.sealed, ...second.sealed])).toBeNull();
  });

  it('detects a changed column', () => {
    const rows = chain();
    rows[1] = { ...rows[1], result: 'failure' };
    expect(findFirstBreak(EMPTY_CHAIN, rows)).toEqual({ sequence: 2, id: 'b', kind: 'changed' });
  });

  it('detects an entry whose canonical bytes were changed too', () => {
    const rows = chain();
    const forged = sealRows({ sequence: 1, checksum: rows[1].previousChecksum }, [row('b', { forged: true })]);
    rows.splice(1, 1, ...forged.sealed);
    expect(findFirstBreak(EMPTY_CHAIN, rows)).toEqual({ sequence: 3, id: 'c', kind: 'reordered' });
  });

  it('detects a missing entry', () => {
    const rows = chain().filter((r) => r.id !== 'c');
    expect(findFirstBreak(EMPTY_CHAIN, rows)).toEqual({ sequence: 4, id: 'd', kind: 'missing' });
  });
});
