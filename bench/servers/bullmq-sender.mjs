// Two usual ways to build a sender with BullMQ, a job per delivery: `textbook` writes a row for each step, `batched` writes
// sets. Events are created in this process and webhooks are not read from the database, work that
// the dispatcher has to do in addition.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { Queue, Worker } from 'bullmq';
import { announce } from '../support/bench-server.mjs';
import { POSTS } from '../support/undici-post.mjs';
import { eventData, plainHeaders } from '../support/webhook-message.mjs';

const pg = createRequire(import.meta.url)('pg');
const CONCURRENCY = 64;
const ENQUEUERS = 16;
const SET = 500;
const FLUSH_MS = 20;
const PATH = '/ok/bullmq';

const pool = new pg.Pool({
  connectionString: process.env.BENCH_DATABASE_URL,
  max: 8,
  options: '-c search_path=bullmq',
});
const connection = { url: process.env.BENCH_REDIS_URL, maxRetriesPerRequest: null };
const KEPT = { removeOnComplete: true, removeOnFail: true };

const INSERT = `insert into delivery (id, webhook_id, event_id, payload) values ($1, $2, $3, $4)`;
const UPDATE = `update delivery set status = 'delivered', attempt = 1, response_status = $2, delivered_at = now() where id = $1`;
const COUNT = `update webhook_counter set delivered = delivered + 1, last_success_at = now() where webhook_id = $1`;
const INSERT_SET = `
  insert into delivery (id, webhook_id, event_id, payload)
  select * from unnest($1::uuid[], $2::int[], $3::uuid[], $4::text[])`;
const UPDATE_SET = `
  update delivery d set status = 'delivered', attempt = 1, response_status = o.status, delivered_at = now()
    from unnest($1::uuid[], $2::int[]) as o(id, status) where d.id = o.id`;
const COUNT_SET = `
  update webhook_counter c set delivered = c.delivered + s.sent, last_success_at = now()
    from unnest($1::int[], $2::int[]) as s(webhook_id, sent) where c.webhook_id = s.webhook_id`;

await pool.query(`
  create schema bullmq;
  create table delivery (
    id uuid primary key, webhook_id int not null, event_id uuid not null, payload text not null,
    status text not null default 'pending', attempt int not null default 0, response_status int,
    created_at timestamptz not null default now(), delivered_at timestamptz);
  create index on delivery (webhook_id, created_at desc);
  create table webhook_counter (webhook_id int primary key, delivered bigint not null default 0, last_success_at timestamptz)
    with (fillfactor = 50);
  insert into webhook_counter (webhook_id) select n from generate_series(0, 99) n`);

/** Creates the jobs of one event's deliveries. */
function* jobsOf(count, fanOut, origins) {
  for (let sent = 0; sent < count;) {
    const eventId = randomUUID();
    const event = { id: eventId, type: 'device.enrolled', timestamp: new Date().toISOString(), data: eventData() };
    const body = JSON.stringify({ ...event, orgId: eventId });
    for (let n = 0; n < fanOut && sent < count; n++, sent++) {
      yield { id: randomUUID(), webhookId: sent % 100, eventId, body, origin: origins[sent % origins.length] };
    }
  }
}

const STYLES = {
  textbook: {
    post: POSTS.request,
    async enqueue(queue, jobs) {
      const loop = async () => {
        for (const job of jobs) {
          await pool.query({ name: 'insert', text: INSERT, values: [job.id, job.webhookId, job.eventId, job.body] });
          await queue.add('deliver', job, KEPT);
        }
      };
      await Promise.all(Array.from({ length: ENQUEUERS }, loop));
    },
    async store({ id, webhookId }, status) {
      await pool.query({ name: 'update', text: UPDATE, values: [id, status] });
      await pool.query({ name: 'count', text: COUNT, values: [webhookId] });
    },
    flush: () => Promise.resolve(),
  },
  batched: {
    post: POSTS.dispatch,
    async enqueue(queue, jobs) {
      for (let set = takeFrom(jobs, SET); set.length > 0; set = takeFrom(jobs, SET)) {
        const column = (name) => set.map((job) => job[name]);
        const values = [column('id'), column('webhookId'), column('eventId'), column('body')];
        await pool.query({ name: 'insert-set', text: INSERT_SET, values });
        await queue.addBulk(set.map((data) => ({ name: 'deliver', data, opts: KEPT })));
      }
    },
    store(job, status) {
      waiting.push({ ...job, status });
      timer ??= setTimeout(() => void STYLES.batched.flush(), FLUSH_MS);
      return Promise.resolve();
    },
    async flush() {
      timer = undefined;
      const set = waiting.splice(0);
      if (set.length === 0) return;
      const sent = new Map();
      for (const { webhookId } of set) sent.set(webhookId, (sent.get(webhookId) ?? 0) + 1);
      const counters = [...sent].sort(([a], [b]) => a - b);
      const results = [set.map(({ id }) => id), set.map(({ status }) => status)];
      await pool.query({ name: 'update-set', text: UPDATE_SET, values: results });
      await pool.query({
        name: 'count-set',
        text: COUNT_SET,
        values: [counters.map(([id]) => id), counters.map(([, n]) => n)],
      });
      stored += set.length;
    },
  },
};
const waiting = [];
let timer;
let stored = 0;

function takeFrom(jobs, count) {
  const set = [];
  while (set.length < count) {
    const { value, done } = jobs.next();
    if (done) break;
    set.push(value);
  }
  return set;
}

/** Measures from the first event to the last stored outcome. */
async function send({ style: name, count, fanOut, origins }) {
  const style = STYLES[name];
  const queue = new Queue(`bench-${name}`, { connection });
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  let sent = 0;
  const deliver = async ({ data }) => {
    const status = await style.post(data.origin, PATH, plainHeaders(data.id, data.eventId, data.body), data.body);
    await style.store(data, status);
    if (++sent === count) finish();
  };
  const worker = new Worker(`bench-${name}`, deliver, { connection, concurrency: CONCURRENCY });
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  stored = 0;
  const startedAt = performance.now();
  await style.enqueue(queue, jobsOf(count, fanOut, origins));
  await finished;
  while (name === 'batched' && stored < count) {
    clearTimeout(timer);
    await style.flush();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  await worker.close();
  await queue.close();
  return { seconds };
}

process.on('message', async (message) => {
  if (message.send) process.send(await send(message.send));
});
announce(0);
