import type pg from 'pg';

/** Columns of `device_state`, of its own row. */
const STATE_COLUMNS = ['status', 'agent_version', 'last_seen_at', 'metrics', 'offline_check_at', 'has_commands'];

/** Inserts a device with its state, online by default, and its hardware if given. @returns its id */
export async function insertDevice(
  admin: pg.Client | pg.Pool,
  { hardware, ...values }: { partner_id: string; org_id: string; [column: string]: unknown },
): Promise<string> {
  const entries = Object.entries({ hostname: 'pc-1', os_type: 'linux', status: 'online', ...values });
  const isState = ([column]: [string, unknown]) => STATE_COLUMNS.includes(column);
  const device: Record<string, unknown> = Object.fromEntries(entries.filter((entry) => !isState(entry)));
  const state: Record<string, unknown> = Object.fromEntries(entries.filter(isState));
  if (state['status'] === 'decommissioned') device['decommissioned_at'] ??= new Date();
  if (state['status'] === 'online') state['offline_check_at'] ??= new Date(Date.now() + 3_600_000);
  const id = await insert(admin, 'device', device, 'id');
  const owner = { device_id: id, partner_id: values.partner_id, org_id: values.org_id };
  await insert(admin, 'device_state', { ...owner, ...state }, 'device_id');
  if (hardware) await insert(admin, 'device_hardware', { ...owner, hardware }, 'device_id');
  return id;
}

async function insert(
  admin: pg.Client | pg.Pool,
  table: string,
  values: Record<string, unknown>,
  key: string,
): Promise<string> {
  const names = Object.keys(values);
  const placeholders = names.map((_, index) => `$${index + 1}`);
  const { rows } = await admin.query<Record<string, string>>(
    `INSERT INTO ${table} (${names.join(', ')}) VALUES (${placeholders.join(', ')}) RETURNING ${key}`,
    Object.values(values),
  );
  return rows[0][key];
}
