import { Injectable } from '@nestjs/common';
import { KeyRing, UnsealFailed } from '@rmm/secrets';
import type { PsaConnection } from './psa-connection.entity.js';
import { splitCredentials } from './psa-credentials.policy.js';
import type { PsaCredentials, PsaProvider } from './psa-providers.constants.js';

type StoredCredentials = Pick<PsaConnection, 'credentials' | 'secretsSealed' | 'secretNames'>;

/** Seals and opens the secrets of a connection; a sealed text opens only for the connection it was sealed for. */
@Injectable()
export class PsaSealingService {
  constructor(private readonly keyRing: KeyRing) {}

  /** Returns the id of the key that seals. */
  get activeKid(): string {
    return this.keyRing.activeKid;
  }

  /** Returns the columns of credentials. */
  seal(id: string, provider: PsaProvider, credentials: PsaCredentials): StoredCredentials {
    const { shown, secret } = splitCredentials(provider, credentials);
    const secretNames = Object.keys(secret).sort();
    const secretsSealed = secretNames.length === 0 ? null : this.keyRing.seal(JSON.stringify(secret), contextOf(id));
    return { credentials: shown, secretsSealed, secretNames };
  }

  /** Returns all credentials. @throws UnsealFailed  when the key ring lacks the key of the secrets */
  open({ id, credentials, secretsSealed }: PsaConnection): PsaCredentials {
    if (secretsSealed === null) return credentials;
    return { ...credentials, ...(JSON.parse(this.keyRing.open(secretsSealed, contextOf(id))) as PsaCredentials) };
  }

  /** Returns the secrets of a connection sealed with the active key; null when no key opens them. */
  reseal(id: string, sealed: string): string | null {
    try {
      return this.keyRing.seal(this.keyRing.open(sealed, contextOf(id)), contextOf(id));
    } catch (error) {
      if (error instanceof UnsealFailed) return null;
      throw error;
    }
  }

  /** Returns all credentials, without secrets that cannot be opened: new ones replace them. */
  openUsable(connection: PsaConnection): PsaCredentials {
    try {
      return this.open(connection);
    } catch (error) {
      if (error instanceof UnsealFailed) return connection.credentials;
      throw error;
    }
  }
}

const contextOf = (id: string): string => `psa_connection.secrets:${id}`;
