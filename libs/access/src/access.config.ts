import type { ServiceName } from '@rmm/contracts';
import type { FleetConfig } from '@rmm/service-kit';

export interface AccessModuleOptions {
  config: Pick<FleetConfig, 'jwtIssuer' | 'jwtAudience' | 'publicAppUrl'> & {
    /** `JWKS_URL`; not needed where VERIFICATION_KEYS is provided, nor where no route accepts users. */
    jwksUrl?: string;
  };
  service: ServiceName;
  /**
   * Source of organizations: the directory table, which follows the events of provisioning; the service's own tables
   * (ORGANIZATION_SOURCE); or none. Default: `own` for provisioning, `none` for partner-gateway, `table` for the others.
   */
  organizations?: OrganizationsFrom;
  /**
   * Source of partners: the directory table, which follows the events of identity. Default: credentials, provisioning and
   * webhook-dispatcher.
   */
  partners?: PartnersFrom;
}

export type OrganizationsFrom = 'table' | 'own' | 'none';
export type PartnersFrom = 'table' | 'none';

/** Settings of this library, with defaults filled in. */
export interface AccessConfig {
  jwtIssuer: string;
  jwtAudience: string;
  jwksUrl?: string;
  publicAppUrl: string;
  service: ServiceName;
  organizations: OrganizationsFrom;
  partners: PartnersFrom;
}

/** Injects `AccessConfig`. */
export const ACCESS_CONFIG = Symbol('ACCESS_CONFIG');

/** Fills in the defaults of the module's options. */
export function toAccessConfig({ config, service, organizations, partners }: AccessModuleOptions): AccessConfig {
  const { jwtIssuer, jwtAudience, jwksUrl, publicAppUrl } = config;
  return {
    jwtIssuer,
    jwtAudience,
    jwksUrl,
    publicAppUrl,
    service,
    organizations: organizations ?? defaultOrganizations(service),
    partners: partners ?? (WITH_PARTNERS.has(service) ? 'table' : 'none'),
  };
}

const WITH_PARTNERS: ReadonlySet<ServiceName> = new Set(['credentials', 'provisioning', 'webhook-dispatcher']);

function defaultOrganizations(service: ServiceName): OrganizationsFrom {
  if (service === 'provisioning') return 'own';
  return service === 'partner-gateway' ? 'none' : 'table';
}
