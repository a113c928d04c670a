// A real OAuth2 authorization server (npm oidc-provider) and an API that accepts its tokens, on loopback, for tests.
// Arguments: the folder with node_modules, and optionally the port to listen on. Prints `listening on 127.0.0.1:PORT`.
//
//   /oauth/token      the token endpoint: client credentials of the client below, secrets really checked
//   /api/…            answers 200 with what it got to whoever has a living token, 401 otherwise
//   /rig/log          what happened: tokens issued, clients refused, calls with their status
//   /rig/revoke       from now on no token that was issued is accepted
//   /rig/fail?n=2&status=503   the next n calls of the API are answered so
//
// It is an OpenID provider too: with `resource=https://AUDIENCE/ALGORITHM` the token endpoint issues signed tokens (JWT) for
// that audience, to the people below with their roles.
//   /rig/sign         POST {header, claims}: a token that is signed with the provider's own key as the header says, whatever it says
//   /rig/rotate       from now on the provider publishes and uses other keys
import { createHmac, createPublicKey, generateKeyPairSync, createPrivateKey, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, port = '0'] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(resolve(join(folder, 'node_modules/oidc-provider/lib/index.js'))));

const client = {
  client_id: 'records-client',
  client_secret: 'canary-client-secret-0123456789abcdef',
  token_endpoint_auth_method: 'client_secret_basic',
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
};
const people = { alex: ['sprag-operators'], robin: ['sprag-readers', 'unknown'], kim: undefined };
const signedIn = Object.keys(people).map((name) => ({
  ...client, client_id: name, client_secret: `secret of ${name}`, token_endpoint_auth_method: 'client_secret_post',
}));
const log = { tokens: 0, refused: 0, calls: [] };
let living = new Set();
let failing = { n: 0, status: 503 };

const server = createServer();
await new Promise((done) => server.listen(Number(port), '127.0.0.1', done));
const address = `127.0.0.1:${server.address().port}`;
const made = (alg, kind, options) => {
  const kid = `${alg}-${Date.now()}-${Math.random()}`;
  return { ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid };
};
let keys, provider, oauth;
const begin = () => {
  keys = [
    made('RS256', 'rsa', { modulusLength: 2048 }),
    made('ES256', 'ec', { namedCurve: 'P-256' }),
    made('EdDSA', 'ed25519'),
  ];
  provider = new Provider(`http://${address}`, {
    clients: [client, ...signedIn],
    scopes: ['records.write'],
    ttl: { ClientCredentials: 600 },
    routes: { token: '/oauth/token' },
    jwks: { keys },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'EdDSA'] },
    extraTokenClaims: (_, token) => ({ groups: people[token.clientId] }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => {
          const { host, pathname } = new URL(resource);
          return { audience: host, scope: '', accessTokenFormat: 'jwt', jwt: { sign: { alg: pathname.slice(1) } } };
        },
      },
    },
  });
  provider.on('client_credentials.saved', (token) => { log.tokens += 1; living.add(token.jti); });
  provider.on('grant.error', () => { log.refused += 1; });
  oauth = provider.callback();
};
begin();

// What an attacker tries is signed here too: without a key, and with the public key as a shared secret.
const signed = ({ header, claims }) => {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const jwk = keys.find((key) => key.alg === header.alg) ?? keys[0];
  const text = `${part({ kid: jwk.kid, ...header })}.${part(claims)}`;
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' });
  const signature = {
    none: () => Buffer.alloc(0),
    HS256: () => createHmac('sha256', publicKey).update(text).digest(),
    RS256: () => sign('sha256', Buffer.from(text), key),
    ES256: () => sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }),
    EdDSA: () => sign(null, Buffer.from(text), key),
  }[header.alg]();
  return `${text}.${signature.toString('base64url')}`;
};

const answer = (response, status, value) => {
  const text = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
};

async function api(request, response, path) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const token = text && await provider.ClientCredentials.find(text);
  let status = token && token.isValid && living.has(token.jti) ? 200 : 401;
  if (status === 200 && failing.n > 0) { failing.n -= 1; status = failing.status; }
  const body = Buffer.concat(chunks).toString();
  log.calls.push({ status, method: request.method, path, body, key: request.headers['idempotency-key'], token: text });
  // What came in is sent back, credentials included: a careless service is the one that shows what leaks.
  answer(response, status, { path, got: body && JSON.parse(body), authorization: request.headers.authorization });
}

server.on('request', async (request, response) => {
  const url = new URL(request.url, `http://${address}`);
  if (url.pathname.startsWith('/api/')) return void api(request, response, request.url);
  if (url.pathname === '/rig/log') return void answer(response, 200, log);
  if (url.pathname === '/rig/revoke') { living = new Set(); return void answer(response, 200, {}); }
  if (url.pathname === '/rig/fail') {
    failing = { n: Number(url.searchParams.get('n')), status: Number(url.searchParams.get('status')) };
    return void answer(response, 200, {});
  }
  if (url.pathname === '/rig/rotate') { begin(); return void answer(response, 200, {}); }
  if (url.pathname === '/rig/sign') {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    return void answer(response, 200, { token: signed(JSON.parse(Buffer.concat(chunks))) });
  }
  oauth(request, response);
});
console.log(`listening on ${address}`);
