import type { ServiceName } from '../fleet/services.js';
import { configReaderOf, type ServiceConfig } from './built-code.js';
import { reasonOf, type Report } from './finding.js';
import type { ServiceTarget } from './target.js';

const REFERENCE = 'docs/reference/configuration.md';
/** Lets the rest of a configuration be read where no sealing key is set; nothing is sealed with it. */
const PLACEHOLDER_KEY = 'not a key: used by ./fleet doctor only';

export type Configurations = Map<ServiceName, ServiceConfig>;

/** Reads each configuration with the reader of its service. @returns those that could be read */
export async function checkConfigurations(services: readonly ServiceTarget[], report: Report): Promise<Configurations> {
  const configurations: Configurations = new Map();
  for (const { name, env } of services) {
    try {
      const read = await configReaderOf(name);
      configurations.set(name, read(withKey(name, env, report)));
    } catch (error) {
      const { problems } = error as { problems?: string[] };
      for (const what of problems ?? [reasonOf(error)]) {
        report.problem(name, { what, why: 'the service does not start', action: `correct the variable: ${REFERENCE}` });
      }
    }
  }
  report.checked.push('configuration');
  checkAgreement(configurations, report);
  return configurations;
}

function withKey(name: ServiceName, env: NodeJS.ProcessEnv, report: Report): NodeJS.ProcessEnv {
  const needsKey = name !== 'partner-gateway' && env['NODE_ENV'] !== 'production';
  if (!needsKey || env['SECRETS_KEYRING'] || env['SECRET_ENCRYPTION_KEY']) return env;
  report.problem(name, {
    what: 'no sealing key is set',
    why: 'each machine creates one of its own, and replicas cannot open what another sealed',
    action: `set SECRETS_KEYRING: ${REFERENCE}#sealing-keys`,
  });
  return { ...env, SECRET_ENCRYPTION_KEY: PLACEHOLDER_KEY };
}

/** Values that must be the same in several services. */
function checkAgreement(configurations: Configurations, report: Report): void {
  const differ = (label: string, valueOf: (config: ServiceConfig) => string | undefined, why: string) => {
    const values = new Map<string, ServiceName[]>();
    for (const [name, config] of configurations) {
      const value = valueOf(config);
      if (value !== undefined) values.set(value, [...(values.get(value) ?? []), name]);
    }
    if (values.size < 2) return;
    const groups = [...values.values()].map((names) => names.join(' and ')).join('; ');
    report.problem(label, { what: `differs between services (${groups})`, why, action: 'set the same value in each' });
  };
  const lost = 'a rotation is not complete, and a removed key makes stored secrets unreadable';
  differ('SECRETS_KEYRING', ({ secrets }) => secrets && ringText(secrets.keyRing.keys), lost);
  differ('SECRETS_ACTIVE_KID', ({ secrets }) => secrets?.keyRing.activeKid, lost);
  const pepper = 'enrollment keys that credentials creates are unknown to provisioning';
  differ(
    'ENROLLMENT_KEY_PEPPER',
    ({ enrollmentPeppers, enrollment }) => (enrollmentPeppers ?? enrollment?.peppers)?.current,
    pepper,
  );
  const tokens = 'access tokens of identity are refused';
  differ('JWT_ISSUER', ({ jwtIssuer }) => jwtIssuer, tokens);
  differ('JWT_AUDIENCE', ({ jwtAudience }) => jwtAudience, tokens);
  differ('PUBLIC_API_URL', ({ publicApiUrl }) => publicApiUrl, 'links and addresses in responses lead to two places');
}

const ringText = (keys: Record<string, Buffer>): string =>
  JSON.stringify(
    Object.keys(keys)
      .sort()
      .map((kid) => [kid, keys[kid]?.toString('base64')]),
  );
