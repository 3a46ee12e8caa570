// ./fleet bench import: imports of organizations against set-based and object-mapped inserts, and a file of 100,000 rows.
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { benchStores, built, lib } from '../support/built-code.mjs';
import { createStreams } from '../support/identity-data.mjs';
import { isQuick } from '../support/options.mjs';
import { startProvisioning } from '../support/provisioning-server.mjs';
import { median, report, target } from '../support/report.mjs';

const CONTEXT = `SELECT set_config('rmm.scope', 'partner', true), set_config('rmm.partner_id', $1, true),
  set_config('rmm.org_access', 'all', true)`;
const ROWS = 1_000;
const EXISTING = 10_000;
const FILE_ROWS = isQuick ? 20_000 : 100_000;
const ROUNDS = isQuick ? 3 : 7;
const WARM_UP_ROUNDS = 2; // Node compiles the code of an import during the first ones

const { FakeIdentity } = await lib('testing', 'fake-identity.js');
const { CREDENTIALS_ORGANIZATIONS_IN_USE, WEBHOOK_DISPATCHER_ORGANIZATIONS_IN_USE } = await lib('contracts');
const { ENTITIES } = await built('provisioning', 'entities.js');
const { Organization } = await built('provisioning', 'organizations/organization.entity.js');
const { ExternalLink } = await built('provisioning', 'organizations/external-link.entity.js');
const { Site } = await built('provisioning', 'sites/site.entity.js');
const { stores, nats, env } = await benchStores('provisioning');
const natsUrl = nats.adminUrl ?? nats.url;
await createStreams(natsUrl);
const identity = await FakeIdentity.start(natsUrl);
for (const contract of [CREDENTIALS_ORGANIZATIONS_IN_USE, WEBHOOK_DISPATCHER_ORGANIZATIONS_IN_USE]) {
  const callback = (_, message) => message.respond(JSON.stringify({ value: { orgIds: [] } })); // an undo asks them
  identity.link.connection.subscribe(contract.subject, { callback });
}
const server = startProvisioning(env, identity);
const pool = new pg.Pool({ connectionString: env.DATABASE_URL, options: '-c search_path=provisioning', max: 1 });
const outbox = new pg.Pool({
  connectionString: env.WORKER_DATABASE_URL,
  options: '-c search_path=provisioning',
  max: 1,
});
const mapped = new DataSource({
  type: 'postgres',
  url: env.DATABASE_URL,
  entities: ENTITIES,
  extra: { options: '-c search_path=provisioning', max: 1 },
});

try {
  await server.ready();
  await mapped.initialize();
  await measure();
} finally {
  await mapped.destroy().catch(() => undefined);
  await Promise.all([pool.end(), outbox.end()]);
  await server.stop();
  await identity.stop();
  await stores.stop();
}

async function measure() {
  const partner = await createPartner();
  const times = { floor: [], save: [], commit: [] };
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    await messagesPublished();
    times.floor.push(await insertSets(round));
    times.commit.push(await importRows(partner, `R${round}`));
  }
  await messagesPublished();
  times.save.push(await saveObjects());
  const [floor, save, commit] = [times.floor, times.save, times.commit].map((each) => median(each.slice(-ROUNDS)));
  const many = await createPartner();
  for (let from = 0; from < EXISTING; from += ROWS) await importRows(many, `E${from}`);
  const previews = [];
  for (let round = 0; round < ROUNDS; round += 1) previews.push(await previewRows(many));
  const file = await importFile(await createPartner());
  report(
    {
      name: 'import',
      arms: [
        { arm: 'three unnest inserts', ms: floor, 'rows/s': (ROWS / floor) * 1_000 },
        { arm: 'import of JSON rows', ms: commit, 'rows/s': (ROWS / commit) * 1_000 },
        { arm: 'TypeORM save in a loop', ms: save, 'rows/s': (ROWS / save) * 1_000 },
        { arm: 'preview against 10,000', ms: median(previews), 'rows/s': (ROWS / median(previews)) * 1_000 },
        ...file.arms,
      ],
      targets: [
        target('import, times the set-based floor', commit / floor, '<=', 3),
        target('import, times faster than save in a loop', save / commit, '>=', 8),
        target('preview of 1,000 rows against 10,000, in ms', median(previews), '<=', 500),
        target('rows of a file a second, preview and commit', file.rate, '>=', 3_000),
        target('memory of the service during the file, in MiB', file.memory, '<=', 400),
      ],
      notes: [
        `1,000 organizations, each with a site and a link, with row security; medians after ${WARM_UP_ROUNDS} rounds, each begun when the messages of the one before are published.`,
        'The floor writes these 3,000 rows only. An import cannot do without more, which its time includes: look-ups of names, links and slugs, 1,000 entries of the journal for the undo, 2,030 messages of the outbox (events, states of organizations and audit entries), and the run.',
      ],
    },
    process.argv,
  );
}

/** Waits for the messages of the import before, which no arm is to share the machine with. */
async function messagesPublished() {
  for (;;) {
    const { rows } = await outbox.query('SELECT EXISTS (SELECT FROM outbox) AS remain');
    if (!rows[0].remain) return;
    await sleep(50);
  }
}

async function createPartner() {
  const partnerId = randomUUID();
  identity.addPartner({ partnerId, maxOrganizations: null });
  await sleep(1_000); // the feeds were received
  return { partnerId, token: await identity.signIn({ scope: 'partner', partnerId }) };
}

function rowsOf(prefix, count = ROWS) {
  return Array.from({ length: count }, (_, n) => ({
    organization: `${prefix} customer ${n}`,
    externalId: `${prefix}-${n}`,
    site: 'Main Office',
  }));
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function importRows({ token }, prefix) {
  return timed(async () => {
    const { body } = await call(token, 'POST', '/orgs/import', { rows: rowsOf(prefix) });
    if (body.imported?.length !== ROWS) throw new Error(`an import failed: ${JSON.stringify(body).slice(0, 200)}`);
  });
}

function previewRows({ token }) {
  return timed(() => call(token, 'POST', '/orgs/import/preview', { rows: rowsOf('E0') }));
}

/** The floor: three statements in one transaction, with row security. */
async function insertSets(round) {
  const partnerId = randomUUID();
  const ids = Array.from({ length: ROWS }, () => randomUUID());
  const names = ids.map((_, n) => `customer ${round}-${n}`);
  const client = await pool.connect();
  try {
    return await timed(async () => {
      await client.query('BEGIN');
      await client.query(CONTEXT, [partnerId]);
      await client.query(
        `INSERT INTO organization (partner_id, id, name, name_key, slug)
         SELECT $1, id, name, name, replace(name, ' ', '-') FROM unnest($2::uuid[], $3::text[]) AS n(id, name)`,
        [partnerId, ids, names],
      );
      await client.query(
        `INSERT INTO site (partner_id, org_id, name, name_key)
         SELECT $1, id, 'Main Office', 'main office' FROM unnest($2::uuid[]) AS n(id)`,
        [partnerId, ids],
      );
      await client.query(
        `INSERT INTO external_link (partner_id, org_id, system, external_id)
         SELECT $1, id, 'csv', id::text FROM unnest($2::uuid[]) AS n(id)`,
        [partnerId, ids],
      );
      await client.query('COMMIT');
    });
  } finally {
    client.release();
  }
}

/** One transaction with `save` of each object. */
function saveObjects() {
  const partnerId = randomUUID();
  return timed(() =>
    mapped.transaction(async (manager) => {
      await manager.query(CONTEXT, [partnerId]);
      for (let n = 0; n < ROWS; n += 1) {
        const [id, name] = [randomUUID(), `customer ${n}`];
        const shared = { partnerId, name, nameKey: name, settings: {}, version: '1' };
        await manager.save(Organization, {
          ...{ ...shared, id, slug: `customer-${n}`, type: 'customer', status: 'active', isFirst: false },
          importUndone: false,
        });
        await manager.save(Site, { ...shared, id: randomUUID(), orgId: id, timezone: 'UTC' });
        await manager.save(ExternalLink, { id: randomUUID(), partnerId, orgId: id, system: 'csv', externalId: id });
      }
    }),
  );
}

async function importFile({ token }) {
  const lines = rowsOf('F', FILE_ROWS).map(
    ({ organization, externalId, site }) => `${organization},${externalId},${site}`,
  );
  const form = new FormData();
  form.set('kind', 'organizations');
  form.set('file', new Blob([`organization,externalId,site\n${lines.join('\n')}\n`]), 'customers.csv');
  let memory = 0;
  const step = async (start) => {
    const startedAt = performance.now();
    const { id } = await start();
    for (;;) {
      const { body } = await call(token, 'GET', `/imports/${id}`);
      memory = Math.max(memory, (await server.ask('memory')) / 2 ** 20);
      if (!['parsing', 'annotating', 'committing', 'undoing'].includes(body.state)) {
        return { id, body, ms: performance.now() - startedAt };
      }
      await sleep(200);
    }
  };
  const preview = await step(async () => (await call(token, 'POST', '/imports', form)).body);
  const commit = await step(async () => (await call(token, 'POST', `/imports/${preview.id}/commit`, {})).body);
  if (commit.body.imported !== FILE_ROWS) throw new Error(`the file was not imported: ${JSON.stringify(commit.body)}`);
  const undo = await step(async () => (await call(token, 'POST', `/imports/${preview.id}/undo`, {})).body);
  if (undo.body.state !== 'undone') throw new Error(`the file was not undone: ${JSON.stringify(undo.body)}`);
  const arm = (name, ms) => ({ arm: name, ms, 'rows/s': (FILE_ROWS / ms) * 1_000 });
  return {
    memory,
    rate: (FILE_ROWS / (preview.ms + commit.ms)) * 1_000,
    arms: [
      arm(`preview of a file of ${FILE_ROWS} rows`, preview.ms),
      arm('its commit', commit.ms),
      arm('its undo', undo.ms),
    ],
  };
}

async function call(token, method, path, body) {
  const isForm = body instanceof FormData;
  const response = await fetch(`http://127.0.0.1:${server.port}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && !isForm && { 'content-type': 'application/json' }) },
    body: body === undefined || isForm ? body : JSON.stringify(body),
  });
  if (response.status >= 400)
    throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`);
  return { body: await response.json() };
}
