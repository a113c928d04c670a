// Builds `dist` and compresses it, and fails if the interface has become larger than its budget.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';

const DIST = new URL('../dist/', import.meta.url);
const ASSETS = new URL('assets/', DIST);
/** The page itself and a note for git stay where they are. */
const KEPT = ['.gitignore'];
/** In bytes, compressed by gzip. */
const BUDGET = { entry: 180_000, charts: 30_000, editor: 150_000, all: 400_000 };

for (const name of readdirSync(DIST).filter(name => !KEPT.includes(name))) {
  rmSync(new URL(name, DIST), { recursive: true });
}
const { output } = await build({ root: fileURLToPath(new URL('..', import.meta.url)), logLevel: 'warn' });

const sizes = new Map();
for (const name of readdirSync(ASSETS)) {
  const file = new URL(name, ASSETS);
  const content = readFileSync(file);
  const zipped = gzipSync(content, { level: 9 });
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  writeFileSync(new URL(`${name}.gz`, ASSETS), zipped);
  writeFileSync(new URL(`${name}.br`, ASSETS), brotliCompressSync(content, quality));
  sizes.set(`assets/${name}`, zipped.length);
}

/** A chunk with what it loads at once. */
function closure(chunk, seen = new Set()) {
  if (!chunk || seen.has(chunk.fileName)) return seen;
  seen.add(chunk.fileName);
  for (const style of chunk.viteMetadata?.importedCss ?? []) seen.add(style);
  for (const name of chunk.imports)
    closure(
      chunks.find(one => one.fileName === name),
      seen,
    );
  return seen;
}

const chunks = output.filter(one => one.type === 'chunk');
const total = names => [...names].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
const entry = closure(chunks.find(one => one.isEntry));
/** What a part of the interface adds to the entry. */
const added = library => {
  const parts = chunks.filter(one => one.moduleIds.some(id => id.includes(library)));
  return total(new Set(parts.flatMap(one => [...closure(one)]).filter(name => !entry.has(name))));
};

const measured = {
  entry: total(entry),
  charts: added('node_modules/uplot/'),
  editor: added('node_modules/@codemirror/'),
  all: total(sizes.keys()),
};
let over = false;
for (const [part, most] of Object.entries(BUDGET)) {
  const is = measured[part];
  over ||= is > most;
  process.stdout.write(`${part}: ${(is / 1000).toFixed(1)} of ${most / 1000} kB${is > most ? ', OVER BUDGET' : ''}\n`);
}
if (over) {
  rmSync(new URL('index.html', DIST));
  process.exitCode = 1;
}
