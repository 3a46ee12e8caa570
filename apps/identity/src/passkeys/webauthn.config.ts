import type { ConfigReader, FleetConfig } from '@rmm/service-kit';

export interface WebAuthnConfig {
  /** `WEBAUTHN_RP_ID`: the domain that passkeys belong to. */
  rpId: string;
  /** `WEBAUTHN_RP_NAME`, shown by authenticators. */
  rpName: string;
  /** `WEBAUTHN_ORIGIN`: origins of the pages that may use the passkeys. */
  origins: readonly string[];
}

/**
 * Reads the relying party of passkeys. By default it is the host of the web application.
 * @see docs/reference/configuration.md
 */
export function readWebAuthnConfig(
  v: ConfigReader,
  { publicAppUrl }: Pick<FleetConfig, 'publicAppUrl'>,
): WebAuthnConfig {
  const app = new URL(publicAppUrl);
  const rpId = v.string('WEBAUTHN_RP_ID', { pattern: /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/ }) ?? app.hostname;
  const origins = v.list('WEBAUTHN_ORIGIN', { default: [app.origin], check: checkOrigin });
  for (const origin of origins.filter(isOrigin)) {
    if (!isWithin(new URL(origin).hostname, rpId))
      v.problem(`WEBAUTHN_ORIGIN ${origin} is outside of WEBAUTHN_RP_ID ${rpId}`);
  }
  return { rpId, rpName: v.string('WEBAUTHN_RP_NAME', { default: 'RMM' }), origins };
}

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

const checkOrigin = (text: string): string | null =>
  isOrigin(text) ? null : 'must list origins like https://app.example';

/** Browsers allow a page to use the passkeys of its own host and of the domains above it. */
const isWithin = (host: string, rpId: string): boolean => host === rpId || host.endsWith(`.${rpId}`);
