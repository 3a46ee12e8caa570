// Reads an export of devices over HTTP page by page, and compares what was read with the tables.
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { request } from 'undici';

/** The largest page. */
export const PAGE = 500;

const decompress = promisify(gunzip);
/** The end of a page: its cursor, and whether there is one. */
const END = /"nextCursor":(?:null|"([^"]+)"),"hasMore":(?:true|false)\}$/;
const END_BYTES = 2_048;

/** Reads one page. @returns {Promise<{ snapshotAt: string, data: object[], nextCursor: string | null }>} */
export async function readPage(server, parameters) {
  return parsePage(await decompress(await requestPage(server, parameters)));
}

/**
 * Reads every page of an export, or the first of them. A page is parsed and checked after the last one was read, since the
 * consumer of an export is not on the machine that serves it.
 * @param {(page: object) => unknown} onPage  called with each page
 * @param {number} maxMs  it fails when it takes longer
 * @returns {Promise<{ cursors: string[], pages: number, records: number, ms: number, snapshotAt: string }>} the cursors of all pages but the
 *   first
 * @throws Error when the snapshot changes, or a full export is not in ascending order of id, so that an id could repeat
 */
export async function readExport(server, { parameters = {}, onPage = () => undefined, maxMs, maxPages = Infinity }) {
  const startedAt = performance.now();
  const [bodies, cursors] = [[], []];
  for (let cursor; cursor !== null && bodies.length < maxPages;) {
    const body = await requestPage(server, { ...parameters, ...(cursor && { cursor }) });
    bodies.push(body);
    cursor = cursorOf(await decompress(body));
    if (cursor !== null) cursors.push(cursor);
    if (performance.now() - startedAt > maxMs) throw new Error(`the export was not read within ${maxMs / 1_000} s`);
  }
  const ms = performance.now() - startedAt;
  return { ...(await checkPages(bodies, { isOrdered: !parameters.updatedSince, onPage })), cursors, ms };
}

/** Requests one page. @returns {Promise<Buffer>} its JSON, with gzip */
async function requestPage({ port, key }, parameters) {
  const query = new URLSearchParams({ limit: String(PAGE), ...parameters });
  const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}/api/v1/partner-api/devices?${query}`, {
    headers: { 'x-api-key': key, 'accept-encoding': 'gzip' },
  });
  const bytes = Buffer.from(await body.arrayBuffer());
  if (statusCode !== 200) throw new Error(`a page of the export returned ${statusCode}: ${bytes.subarray(0, 300)}`);
  if (headers['content-encoding'] !== 'gzip') throw new Error('a page of the export is not compressed');
  return bytes;
}

function parsePage(bytes) {
  const page = JSON.parse(bytes.toString());
  if (page.blocked) throw new Error(`${page.blocked.length} records of a page were withheld`);
  return page;
}

function cursorOf(bytes) {
  const end = END.exec(bytes.subarray(-END_BYTES).toString());
  if (!end) throw new Error('a page of the export does not end with its cursor');
  return end[1] ?? null;
}

async function checkPages(bodies, { isOrdered, onPage }) {
  const result = { pages: bodies.length, records: 0, snapshotAt: null };
  let lastId = '';
  for (const body of bodies) {
    const page = parsePage(await decompress(body));
    result.snapshotAt ??= page.snapshotAt;
    if (page.snapshotAt !== result.snapshotAt) throw new Error('the snapshot changed between two pages');
    for (const { id } of isOrdered ? page.data : []) {
      if (id <= lastId) throw new Error(`${id} follows ${lastId}`);
      lastId = id;
    }
    onPage(page);
    result.records += page.data.length;
  }
  return result;
}

const CREATE = `
  DROP TABLE IF EXISTS consumed;
  CREATE TEMP TABLE consumed (id uuid PRIMARY KEY, hostname text NOT NULL)`;
const CONSUME = `
  INSERT INTO consumed SELECT * FROM unnest($1::uuid[], $2::text[])
  ON CONFLICT (id) DO UPDATE SET hostname = excluded.hostname`;
const MISSING = `
  SELECT count(*)::int AS n FROM device d
   WHERE d.partner_id = $1 AND d.created_at <= $2 AND d.decommissioned_at IS NULL AND d.org_id <> ALL ($3::uuid[])
     AND NOT EXISTS (SELECT FROM consumed c WHERE c.id = d.id)`;
const FOREIGN = `
  SELECT count(*)::int AS n FROM consumed c
   WHERE NOT EXISTS (SELECT FROM device d WHERE d.id = c.id AND d.partner_id = $1 AND d.created_at <= $2
                        AND (d.decommissioned_at IS NULL OR d.decommissioned_at >= $3))`;
const DIFFERENT = `
  SELECT count(*)::int AS n FROM device d LEFT JOIN consumed c ON c.id = d.id
   WHERE d.partner_id = $1 AND d.decommissioned_at IS NULL AND c.hostname IS DISTINCT FROM d.hostname`;

/** Holds what a consumer has after exports, in a table next to those of provisioning. */
export class ConsumedDevices {
  rows = [];

  static async create(admin, partnerId) {
    await admin.query(CREATE);
    return Object.assign(new ConsumedDevices(), { admin, partnerId });
  }

  /** Remembers the records of a page; `store` writes them. */
  add({ data }) {
    for (const { id, hostname } of data) this.rows.push([id, hostname]);
  }

  async store() {
    for (let from = 0; from < this.rows.length; from += 50_000) {
      const part = this.rows.slice(from, from + 50_000);
      await this.admin.query(CONSUME, [part.map(([id]) => id), part.map(([, hostname]) => hostname)]);
    }
    this.rows = [];
  }

  /**
   * Compares a full export with the table.
   * @param {{ snapshotAt: string, startedAt: Date, suspended: string[] }} exported  with the organizations that were not
   *   visible all the time
   * @returns the numbers of live devices that it lacks, and of those that were no devices of the partner or had ended before
   */
  async compare({ snapshotAt, startedAt, suspended }) {
    return {
      missing: await this.count(MISSING, [this.partnerId, snapshotAt, suspended]),
      foreign: await this.count(FOREIGN, [this.partnerId, snapshotAt, startedAt]),
    };
  }

  /** Returns the number of live devices that differ from what was consumed. */
  countDifferent() {
    return this.count(DIFFERENT, [this.partnerId]);
  }

  async count(sql, values) {
    return (await this.admin.query(sql, values)).rows[0].n;
  }
}
