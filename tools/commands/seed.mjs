import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { FLEET_DIR } from '../fleet/layout.mjs';
import { bold, dim, say } from '../fleet/reporter.mjs';
import { runningState } from '../fleet/state.mjs';
import { readJson, writeAtomically } from '../paths.mjs';
import { Client } from '../seed/client.mjs';
import { PARTNERS, WEBHOOK_EVENTS } from '../seed/demo.mjs';
import { seedPartner } from '../seed/seed-partner.mjs';

const NOTE = path.join(FLEET_DIR, 'seed.json');
const RECEIVER = 'http://127.0.0.1:9377/hook';

/** `fleet seed`: fills the running fleet with a demo, through the public API. A second time it only says what is there. */
export default async function seed() {
  const summary = runningState()?.summary;
  if (!summary) throw new Failure('The fleet is not running. Start it with: fleet up');
  const note = readJson(NOTE);
  if (note?.complete) return show(note, 'The demo is there already.');
  if (note)
    throw new Failure(
      'An earlier seed broke off half-way. Start afresh with: fleet down, fleet reset, fleet up, fleet seed',
    );

  const password = `demo-${randomBytes(6).toString('hex')}`;
  writeAtomically(NOTE, JSON.stringify({ complete: false }));
  const platform = await signInAdministrator(summary);
  const partners = [];
  for (const [i, plan] of PARTNERS.entries()) {
    partners.push(await seedPartner({ platform, plan, password, withMembers: i === 0, say }));
  }
  const webhook = summary.localReceivers ? await makeWebhook(partners[0]) : null;
  const result = {
    complete: true,
    password,
    webhook,
    partners: PARTNERS.map((plan, i) => describe(plan, partners[i])),
  };
  writeAtomically(NOTE, JSON.stringify(result, null, 2));
  return show(result, 'The demo is there.');
}

async function signInAdministrator({ baseUrl, admin }) {
  const client = new Client(baseUrl);
  const { tokens } = await client.post('/auth/login', { email: admin.email, password: admin.password });
  if (!tokens) throw new Failure('The administrator has a second factor; seed a fresh fleet: fleet reset');
  return client.as(tokens.accessToken);
}

async function makeWebhook({ client, organizations }) {
  const secret = randomBytes(16).toString('hex');
  const body = { orgId: organizations[0].id, name: 'Ticket system', url: RECEIVER, secret, events: WEBHOOK_EVENTS };
  const { id } = await client.post('/webhooks', body);
  return { id, secret, orgId: organizations[0].id };
}

const describe = ({ name }, { admin, people, organizations }) => ({ name, people: [admin, ...people], organizations });

function show({ partners, password, webhook }, title) {
  console.log(`\n${bold(title)} Password of everybody: ${bold(password)}\n`);
  for (const { name, people, organizations } of partners) {
    console.log(`  ${bold(name)}  ${dim(organizations.map((organization) => organization.name).join(', '))}`);
    for (const { email, role, totpSecret } of people) {
      const factor = totpSecret ? dim(`   code: ./fleet totp ${totpSecret}`) : '';
      console.log(`    ${email.padEnd(36)} ${role}${factor}`);
    }
  }
  console.log(
    webhook
      ? hintFor(webhook)
      : dim('\n  No webhook: they may go to this machine only after ./fleet up --local-receivers'),
  );
}

const hintFor = ({ secret, orgId }) => `
  Watch its webhook:   ./fleet receiver --secret ${secret}
  and give it a cause: ./fleet emit alert.triggered --org ${orgId} --data '{"severity":"high","title":"Disk full"}'`;
