import type { PsaConnectionDetailsDto, PsaConnectionDto } from './dto/psa-connection.dto.js';
import type { PsaConnection } from './psa-connection.entity.js';
import { CREDENTIAL_FIELDS } from './psa-providers.constants.js';

export const toPsaConnectionDto = (row: PsaConnection): PsaConnectionDto => ({
  id: row.id,
  orgId: row.orgId,
  ownerScope: row.orgId === null ? 'partner' : 'organization',
  provider: row.provider,
  name: row.name,
  status: row.status,
  settings: row.settings,
  hasCredentials: missingCredentials(row).length === 0,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  lastTestedAt: row.lastTestedAt?.toISOString() ?? null,
  lastSyncedAt: row.lastSyncedAt?.toISOString() ?? null,
});

/** For callers who may change the connection: its public credentials, and which of the secret ones it has. */
export const toPsaConnectionDetailsDto = (row: PsaConnection): PsaConnectionDetailsDto => ({
  ...toPsaConnectionDto(row),
  credentials: row.credentials,
  secretCredentials: Object.fromEntries(
    CREDENTIAL_FIELDS[row.provider].secret.map((name) => [name, row.secretNames.includes(name)]),
  ),
});

/** Returns the names of the required credentials that a connection lacks. */
export function missingCredentials({
  provider,
  credentials,
  secretNames,
}: Pick<PsaConnection, 'provider' | 'credentials' | 'secretNames'>): string[] {
  return CREDENTIAL_FIELDS[provider].required.filter(
    (name) => !Object.hasOwn(credentials, name) && !secretNames.includes(name),
  );
}

/** Returns the resource of an audit entry. */
export const psaResource = ({ id, name, orgId, partnerId }: PsaConnection) => ({
  type: 'psa_connection',
  id,
  name,
  orgId,
  partnerId,
});
