import type { KeyRing } from '@rmm/secrets';
import type { OidcProvider } from './oidc/oidc-client.service.js';
import { clientSecretSealContext, type SsoProvider } from './sso-provider.entity.js';
import { InvalidProviderConfiguration } from './sso.errors.js';

/** Returns what a call of a provider needs, with its opened secret. @throws InvalidProviderConfiguration when it is incomplete */
export function openProvider(keyRing: KeyRing, row: SsoProvider): OidcProvider {
  const { id, configVersion, issuer, clientId, clientSecretSealed, preset, metadata } = row;
  if (issuer === null || clientId === null || clientSecretSealed === null || metadata === null) {
    throw new InvalidProviderConfiguration();
  }
  const clientSecret = keyRing.open(clientSecretSealed, clientSecretSealContext(id));
  return { id, configVersion, issuer, clientId, clientSecret, preset, metadata };
}
