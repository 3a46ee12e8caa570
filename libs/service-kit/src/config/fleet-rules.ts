import type { Cidr } from './cidr.js';
import type { ConfigReader } from './config-reader.js';
import type { FleetConfig } from './fleet-config.js';

/** Checks the values that production refuses. @see docs/reference/configuration.md */
export function checkFleetRules(v: ConfigReader, config: FleetConfig): void {
  if (!config.isProduction) return;
  if (URL.canParse(config.redisUrl ?? '') && new URL(config.redisUrl).password === '') {
    v.problem('REDIS_URL must carry a password in production');
  }
  if (!hasLogin(config.natsUrl ?? '')) v.problem('NATS_URL must carry the login of the service in production');
  if (!config.rateLimitsEnabled) v.problem('RATE_LIMITS_ENABLED must not be false in production');
  if (config.publicApiUrl.startsWith('https:') && !v.has('TRUSTED_PROXY_CIDRS')) {
    v.problem('TRUSTED_PROXY_CIDRS is required in production with an https PUBLIC_API_URL: ranges, or none');
  }
  for (const [name, url] of [
    ['PUBLIC_API_URL', config.publicApiUrl],
    ['PUBLIC_APP_URL', config.publicAppUrl],
  ] as const) {
    if (!v.has(name)) v.problem(`${name} is required in production`);
    else if (config.isHosted && !url.startsWith('https:')) v.problem(`${name} must be https where the fleet is hosted`);
  }
}

/** Reads the address ranges that tenants' URLs may use besides the public internet; refused in production and where hosted. */
export function readOutboundExtraAllowedCidrs(v: ConfigReader, config: FleetConfig): Cidr[] {
  if (v.has('OUTBOUND_EXTRA_ALLOWED_CIDRS') && (config.isProduction || config.isHosted)) {
    v.problem('OUTBOUND_EXTRA_ALLOWED_CIDRS must be empty in production and where the fleet is hosted');
  }
  return v.cidrs('OUTBOUND_EXTRA_ALLOWED_CIDRS');
}

/** Returns whether a NATS address, which may list several servers, names a user and a password. */
const hasLogin = (natsUrl: string): boolean => /^[a-z]+:\/\/[^:@/\s,]+:[^@\s]+@/i.test(natsUrl.trim());
