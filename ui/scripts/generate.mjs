// Writes what the interface knows about the API from its committed document: the types of requests and answers, and a table of
// routes with the roles that may use them. A route that is not in the document is a feature that the pages leave out.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const SOURCE = new URL('../../clients/openapi.json', import.meta.url);
const TARGET = new URL('../src/api/generated/', import.meta.url);
const METHODS = ['get', 'post', 'put', 'delete'];

/** `GET /v1/jobs` → roles and query parameters, for routes of the API proper. */
function routes(document) {
  const table = {};
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!path.startsWith('/v1/')) continue;
    for (const method of METHODS.filter(name => methods[name])) {
      const operation = methods[method];
      const query = (operation.parameters ?? []).filter(one => one.in === 'query');
      table[`${method.toUpperCase()} ${path}`] = {
        roles: operation['x-role'] ?? [],
        query: Object.fromEntries(query.map(one => [one.name, one.schema.enum ?? []])),
      };
    }
  }
  return table;
}

const document = JSON.parse(readFileSync(SOURCE, 'utf8'));
const banner = '// Generated from clients/openapi.json by scripts/generate.mjs.\n';
mkdirSync(TARGET, { recursive: true });
writeFileSync(new URL('schema.d.ts', TARGET), banner + astToString(await openapiTS(SOURCE)));
writeFileSync(
  new URL('routes.ts', TARGET),
  `${banner}export type Route = { roles: string[]; query: Record<string, string[]> };\n` +
    `export const ROUTES: Record<string, Route> = ${JSON.stringify(routes(document), null, 1)};\n`,
);
