import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 20;
/** An organization is suspended, and is active again, each time after so many transactions. */
const SUSPEND_EVERY = 40;

const RENAME = `
  UPDATE device SET hostname = 'renamed-' || left(gen_random_uuid()::text, 8) WHERE id IN (
    SELECT id FROM device WHERE partner_id = $1 AND id > $2 AND decommissioned_at IS NULL ORDER BY id LIMIT 10)`;
const ADD = `
  INSERT INTO device (partner_id, org_id, hostname, os_type, enrolled_at)
  SELECT $1, $2, 'new-' || n, 'linux', now() FROM generate_series(1, 2) n`;
const DECOMMISSION = `
  UPDATE device SET decommissioned_at = clock_timestamp() WHERE id = (
    SELECT id FROM device WHERE partner_id = $1 AND id > $2 AND decommissioned_at IS NULL ORDER BY id LIMIT 1)`;
const SET_STATUS = 'UPDATE organization SET status = $2 WHERE id = $1';

/** Writes to the devices of a partner without pause: renames, adds and decommissions them, and suspends organizations. */
export class DeviceWrites {
  rows = 0;
  /** The organizations that were not visible for a time. */
  suspended = [];
  ends = false;

  /** @param admin  a connection of the administrator that nothing else uses, with the schema of provisioning in its path */
  constructor(admin, { partnerId, orgIds }) {
    Object.assign(this, { admin, partnerId, orgIds });
  }

  start() {
    this.startedAt = performance.now();
    this.work = this.run();
    this.work.catch(() => undefined); // thrown by stop()
    return this;
  }

  /** Ends the writes with every organization visible. @returns rows a second */
  async stop() {
    this.ends = true;
    await this.work;
    return this.rows / ((performance.now() - this.startedAt) / 1_000);
  }

  async run() {
    for (let nth = 0; !this.ends; nth += 1) {
      await this.writeOnce();
      if (nth % SUSPEND_EVERY === SUSPEND_EVERY - 1) await this.suspendNext();
      await sleep(PAUSE_MS);
    }
    await this.resume();
  }

  async writeOnce() {
    const [partnerId, orgId] = [this.partnerId, this.orgIds[Math.floor(Math.random() * this.orgIds.length)]];
    await this.admin.query('BEGIN');
    await this.count(RENAME, [partnerId, crypto.randomUUID()]);
    await this.count(ADD, [partnerId, orgId]);
    await this.count(DECOMMISSION, [partnerId, crypto.randomUUID()]);
    await this.admin.query('COMMIT');
  }

  async suspendNext() {
    await this.resume();
    const orgId = this.orgIds[this.suspended.length % this.orgIds.length];
    this.suspended.push(orgId);
    this.current = orgId;
    await this.count(SET_STATUS, [orgId, 'suspended']);
  }

  async resume() {
    if (this.current) await this.count(SET_STATUS, [this.current, 'active']);
    this.current = undefined;
  }

  async count(sql, values) {
    this.rows += (await this.admin.query(sql, values)).rowCount;
  }
}
