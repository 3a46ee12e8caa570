import type { ProvisioningTestApp } from './provisioning-test-app.js';
import { seeded } from './seeded-random.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;
type Row = Record<string, string | undefined>;

/** Spellings of names: of case, of white space, composed and decomposed, and some that only look equal. */
const NAMES = [
  ...['Acme', ' acme ', 'ACME', 'Ac me', 'AC  ME', 'Müller', 'MÜLLER', 'Mu\u0308ller', 'Muller'],
  ...[
    'Gone',
    'GONE',
    'Gone Too',
    'Linked',
    'linked',
    'Twice',
    'Nova',
    'NOVA',
    'Stra\u00dfe',
    'STRASSE',
    '\u0130stanbul',
  ],
];
const SITES = [undefined, undefined, 'Main', 'main ', 'N\u00f6rd', 'No\u0308rd', 'ACME'];
const ZONES = [undefined, undefined, 'Europe/Berlin', 'Asia/Tokyo'];
const CONTACT_NAMES = [undefined, 'Kim', 'KIM', 'Lee', 'Zo\u00eb', 'Zoe\u0308', 'Unknown Yet', 'Late  Comer', '---'];
const EMAILS = [undefined, 'kim@x.example', 'Kim@X.example', 'dup@x.example', 'new@x.example', 'late@x.example'];

export const pickFrom =
  (random: () => number) =>
  <T>(items: readonly T[]): T =>
    items[Math.floor(random() * items.length)];

/**
 * Creates organizations that rows can match in every way: live ones, linked ones of several systems, deleted ones with
 * and without a link, and two of one name.
 * @returns the id of each by its name
 */
export async function buildOrganizations(client: Client): Promise<Record<string, string>> {
  const rows = [
    { organization: 'Acme', site: 'Main', timezone: 'Europe/Rome' },
    { organization: 'Müller', externalId: '1' },
    { organization: 'Gone' },
    { organization: 'Gone Too', externalId: 'G', externalSystem: 'crm', site: 'Main' },
    { organization: 'Linked', externalId: 'L', externalSystem: 'crm' },
    { organization: 'Twice', externalId: 'T1' },
    { organization: 'Twice', externalId: 'T2' },
  ];
  const { imported } = (await client.post('/orgs/import', { rows })).body as {
    imported: { organization: string; organizationId: string }[];
  };
  const ids = Object.fromEntries(imported.map(({ organization, organizationId }) => [organization, organizationId]));
  for (const name of ['Gone', 'Gone Too']) await client.delete(`/orgs/organizations/${ids[name]}`);
  return ids;
}

/** Creates contacts of an organization: a linked one, two of one name and two of one address. */
export async function buildContacts(client: Client, organizationId: string): Promise<void> {
  const rows = [
    { name: 'Kim', email: 'kim@x.example', externalId: 'K1' },
    { name: 'Lee', phone: '1', externalId: 'E1' },
    { name: 'Lee', phone: '2', externalId: 'E2' },
    { name: 'One', email: 'dup@x.example', externalId: 'D1' },
    { name: 'Two', email: 'dup@x.example', externalId: 'D2', externalSystem: 'crm' },
    { name: 'Zo\u00eb' },
  ].map((row) => ({ organizationId, ...row }));
  await client.post('/orgs/contacts/import', { rows });
}

/** Returns random rows of organizations, many of which name the same ones. */
export function organizationRows(seed: number): Row[] {
  const random = seeded(seed);
  const pick = pickFrom(random);
  return Array.from({ length: 4 + Math.floor(random() * 24) }, () => ({
    organization: pick(NAMES),
    externalId: pick([undefined, undefined, '1', 'L', 'G', 'N1', 'N2']),
    externalSystem: pick([undefined, 'csv', 'crm', 'erp']),
    site: pick(SITES),
    timezone: pick(ZONES),
  }));
}

/** Returns random rows of contacts, which name their organization by its id or by a spelling of its name. */
export function contactRows(seed: number, organizationIds: Readonly<Record<string, string>>): Row[] {
  const random = seeded(seed);
  const pick = pickFrom(random);
  return Array.from({ length: 4 + Math.floor(random() * 24) }, () => ({
    ...(random() < 0.4
      ? { organizationId: organizationIds[pick(['Acme', 'Acme', 'Müller', 'Gone'])] }
      : { organization: pick(['Acme', 'ACME ', 'Müller', 'Mu\u0308ller', 'Twice', 'Gone', 'Nowhere']) }),
    name: pick(CONTACT_NAMES),
    email: pick(EMAILS),
    phone: pick([undefined, '1', '22']),
    site: pick([undefined, undefined, 'Main', 'Nowhere']),
    externalId: pick([undefined, undefined, 'K1', 'E1', 'N1', 'N2']),
    externalSystem: pick([undefined, undefined, 'crm']),
  })).filter(({ name, email, phone }) => name ?? email ?? phone);
}
