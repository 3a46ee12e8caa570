// ./fleet bench users: a page of a partner's users at 10 and at 50,000 members, against the same page as a bare select.
import { createRequire } from 'node:module';
import { BenchServer } from '../support/bench-server.mjs';
import { benchStores } from '../support/built-code.mjs';
import { addPartner, identityEnvironment, createStreams, signIn } from '../support/identity-data.mjs';
import { isQuick } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';

const pg = createRequire(import.meta.url)('pg');
const SIZES = isQuick ? [10, 2_000] : [10, 50_000];
const ROUNDS = isQuick ? 1 : 7;
const REQUESTS = 60;
const SEARCHES = 5;
const PAGE_SQL = `select u.id, u.email, u.name, u.status, r.name as role from partner_membership m
  join user_account u on u.id = m.user_id join role r on r.id = m.role_id
  where m.partner_id = $1 order by m.created_at desc, m.id desc limit 50`;

const { stores, database, schema, nats, env } = await benchStores('identity');
await createStreams(nats.adminUrl);
const server = new BenchServer('identity-service.mjs', { env: identityEnvironment(env) });
const admin = new pg.Client({ connectionString: database.adminUrl, options: `-c search_path=${schema}` });

try {
  await server.ready();
  await admin.connect();
  const arms = [];
  for (const size of SIZES) {
    const { partnerId, email } = await addPartner(database.adminUrl, schema, `size${size}`, size);
    const token = await signIn(server.port, email(1));
    arms.push({ size, partnerId, token, path: '/users?limit=50' });
    arms.push({ size, partnerId, token, path: '/users?limit=50&search=member%204', search: true });
  }
  for (const arm of arms) await page(arm);
  for (const arm of arms) arm.statements = await statementsOf(arm);
  for (let round = 0; round < ROUNDS; round++) {
    for (const arm of arms) {
      (arm.ms ??= []).push(await timeOf(() => page(arm), arm.search ? SEARCHES : REQUESTS));
      if (!arm.search) (arm.floorMs ??= []).push(await timeOf(() => admin.query(PAGE_SQL, [arm.partnerId])));
    }
  }
  print(arms);
} finally {
  await admin.end();
  await server.stop();
  await stores.stop();
}

async function page({ path, token }) {
  const response = await fetch(`http://127.0.0.1:${server.port}/api/v1${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const body = await response.json();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${JSON.stringify(body)}`);
  return body;
}

/** Returns the statements of one request: the minimum of some, since background work adds to it. */
async function statementsOf(arm) {
  const counts = [];
  for (let i = 0; i < 10; i++) {
    const before = (await server.ask('statements')).statements;
    await page(arm);
    counts.push((await server.ask('statements')).statements - before);
  }
  return Math.min(...counts);
}

/** Returns the median of sequential calls in ms. */
async function timeOf(call, times = REQUESTS) {
  const taken = [];
  for (let i = 0; i < times; i++) {
    const startedAt = performance.now();
    await call();
    taken.push(performance.now() - startedAt);
  }
  return median(taken);
}

function print(arms) {
  const [small, , large] = arms;
  const rows = arms.map((arm) => ({
    arm: `${arm.size.toLocaleString('en')} members${arm.search ? ', search' : ''}`,
    'page ms': median(arm.ms),
    statements: arm.statements,
    'bare select ms': arm.floorMs ? median(arm.floorMs) : '',
    'x bare select': arm.floorMs ? median(arm.ms.map((ms, round) => ms / arm.floorMs[round])) : '',
  }));
  report(
    {
      name: 'users',
      arms: rows,
      targets: [
        target('statements at 50,000 against 10', large.statements - small.statements, '<=', 0),
        target('page at 50,000 against 10', median(large.ms.map((ms, round) => ms / small.ms[round])), '<=', 2),
      ],
      notes: ['One caller, one request after the other. The bare select has no total, no tenant and no HTTP.'],
    },
    process.argv,
  );
}
