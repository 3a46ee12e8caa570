import { createHmac, timingSafeEqual } from 'node:crypto';
import type { HasTenant } from '../tenants/tenant-context.js';
import { InvalidCursor } from './cursor.errors.js';

/** The list a cursor is valid for: the same one, requested by the same tenant. */
export interface CursorBinding {
  caller: HasTenant;
  /** Names the list: `audit-log`. */
  list: string;
  /** The filters as validated; the order of keys does not matter, absent and undefined are the same. */
  filters: Readonly<Record<string, unknown>>;
}

/** The keys of a service, of which the active one signs. */
interface SigningKeys {
  keys: Readonly<Record<string, Buffer | string>>;
  activeKid: string;
}

const SEPARATOR = '.';

/** Creates and verifies cursors: opaque to clients, signed with HMAC-SHA256, bound to tenant, list, filters and sort. */
export class Cursors {
  /** @param key  32 bytes or more, the same in every replica */
  constructor(private readonly key: Buffer | string) {
    if (Buffer.byteLength(key) < 32) throw new Error('A cursor key must have 32 bytes or more');
  }

  /** Creates cursors with a key of their own, derived from the active one. @param list  names the list in the key */
  static derive({ keys, activeKid }: SigningKeys, list: string): Cursors {
    return new Cursors(
      createHmac('sha256', keys[activeKid] ?? '')
        .update(`${list} cursors`)
        .digest(),
    );
  }

  /** @param position  the sort keys of the last row, as PostgreSQL's text */
  encode(position: readonly string[], binding: CursorBinding, sort: string): string {
    const body = Buffer.from(JSON.stringify(position)).toString('base64url');
    return `${body}${SEPARATOR}${this.sign(body, binding, sort)}`;
  }

  /** @throws InvalidCursor */
  decode(cursor: string, binding: CursorBinding, sort: string): string[] {
    const [body, signature, ...rest] = cursor.split(SEPARATOR);
    if (!body || !signature || rest.length > 0) throw new InvalidCursor();
    const given = Buffer.from(signature);
    const expected = Buffer.from(this.sign(body, binding, sort));
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw new InvalidCursor();
    return JSON.parse(Buffer.from(body, 'base64url').toString()) as string[];
  }

  /** Returns the text of the signature. Texts are compared, since decoding accepts several texts for the same bytes. */
  private sign(body: string, { caller, list, filters }: CursorBinding, sort: string): string {
    const { scope, partnerId, orgId } = caller.tenant;
    const bound = JSON.stringify([body, scope, partnerId, orgId, list, sort, sorted(filters)]);
    return createHmac('sha256', this.key).update(bound).digest('base64url');
  }
}

function sorted(filters: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
