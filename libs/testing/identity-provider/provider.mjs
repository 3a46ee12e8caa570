/**
 * `oidc-provider`, a certified OpenID provider, on loopback, for specs and local trials. Its pages are not shown: a
 * sign-in succeeds at once as the account in the parameter `login_hint` of the authorization request, which is JSON
 * `{ "sub", "email", "email_verified", "name", "amr" }` with any other claims, or else a subject. With `form: true` it asks
 * for the account by a form, for browsers.
 *
 *     node libs/testing/identity-provider/provider.mjs '{"redirectUri":"http://localhost:8080/api/v1/sso/callback"}'
 *
 * Writes `{ "issuer", "clientId", "clientSecret" }` as one line. Ends with its input.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';

const options = JSON.parse(process.argv[2] ?? '{}');
const {
  redirectUri,
  postLogoutRedirectUri,
  backchannelLogoutUri,
  claims = {},
  form = false,
  issuerPath = '',
  port = 0,
} = options;
const client = { clientId: 'rmm', clientSecret: 'a client secret of specs, long enough' };

const warn = console.warn;
console.warn = () => undefined; // about the version of Node
const { default: Provider } = await import('oidc-provider');
console.warn = warn;

const server = createServer();
server.listen(port, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}${issuerPath}`;
const accounts = new Map();

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: client.clientId,
      client_secret: client.clientSecret,
      redirect_uris: [redirectUri],
      ...(postLogoutRedirectUri && { post_logout_redirect_uris: [postLogoutRedirectUri] }),
      ...(backchannelLogoutUri && {
        backchannel_logout_uri: backchannelLogoutUri,
        backchannel_logout_session_required: true,
      }),
    },
  ],
  claims: {
    openid: ['sub'],
    email: ['email', 'email_verified'],
    profile: ['name'],
    ...claims,
    acr: null,
    amr: null,
    auth_time: null,
    sid: null,
  },
  cookies: { keys: ['a cookie key of specs'] },
  features: {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: backchannelLogoutUri !== undefined },
    rpInitiatedLogout: { enabled: true },
  },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  pkce: { required: () => true },
  findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...accounts.get(sub), sub }) }),
  fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
});
const handle = provider.callback();

server.on('request', (request, response) => {
  if (!request.url.startsWith('/interaction/')) return void handle(request, response);
  interact(request, response).catch((error) => {
    response.statusCode = 500;
    response.end(String(error));
  });
});

async function interact(request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login' && form && request.method === 'GET') return showForm(response);
  const account = accountOf(form ? await readAccount(request) : params.login_hint);
  if (prompt.name === 'login') {
    accounts.set(account.sub, account);
    const login = { accountId: account.sub, ...(account.amr && { amr: account.amr }) };
    return provider.interactionFinished(request, response, { login });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

function showForm(response) {
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.end(`<!doctype html><html lang="en"><title>Identity provider</title><h1>Sign in at the provider</h1>
    <form method="post"><label>Account <input name="account" autofocus></label> <button>Sign in</button></form></html>`);
}

async function readAccount(request) {
  let body = '';
  for await (const chunk of request) body += chunk;
  return new URLSearchParams(body).get('account') ?? undefined;
}

function accountOf(hint = 'user') {
  try {
    return JSON.parse(hint);
  } catch {
    return { sub: hint };
  }
}

process.stdout.write(`${JSON.stringify({ issuer, ...client })}\n`);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
