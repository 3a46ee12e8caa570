import { basic, credential, fixedHeaders, type PsaAccess, type PsaAdapter } from './psa.adapter.js';

/** A ticket system: it has projects and no companies. */
export const jira: PsaAdapter = {
  authorize: (access) => fixedHeaders(headersOf(access)),
  probe: async (http) => {
    await http.getJson('/rest/api/2/myself');
  },
};

/** The cloud takes an e-mail address with a token; own servers a personal access token, or a user with a password. */
function headersOf(access: PsaAccess): Record<string, string> {
  const { email, apiToken, personalAccessToken } = access.credentials;
  if (email !== undefined && apiToken !== undefined) return basic(email, apiToken);
  if (personalAccessToken !== undefined) return { authorization: `Bearer ${personalAccessToken}` };
  return basic(credential(access, 'username'), credential(access, 'password'));
}
