// The real binary on a store of its own: started, asked, killed and started again.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BINARY = process.env.SPRAG_BINARY ?? fileURLToPath(new URL('../../target/debug/sprag', import.meta.url));
const AGAIN_MS = 50;
const READY_MS = 60_000;

/** Asks again until the answer is true. */
export async function until(what: string, is: () => Promise<boolean> | boolean, within = READY_MS): Promise<void> {
  const end = Date.now() + within;
  while (Date.now() < end) {
    if (await is()) return;
    await new Promise(done => setTimeout(done, AGAIN_MS));
  }
  throw new Error(`this did not happen within ${within} ms: ${what}`);
}

function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const probe = createServer();
    probe.on('error', failed);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (typeof address === 'object' && address ? done(address.port) : failed(new Error('no port'))));
    });
  });
}

type Options = { args?: string[]; files?: Record<string, string> };

export class SpragServer {
  private process: ChildProcess | null = null;
  private said = '';

  private constructor(
    readonly folder: string,
    readonly port: number,
    private readonly args: string[],
  ) {}

  static async start({ args = [], files = {} }: Options = {}): Promise<SpragServer> {
    const folder = mkdtempSync(join(tmpdir(), 'sprag-ui-'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const server = new SpragServer(folder, await freePort(), args);
    await server.run();
    return server;
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async run(): Promise<void> {
    const args = ['up', '--store', `sqlite:${join(this.folder, 'sprag.db')}`, '--listen', `127.0.0.1:${this.port}`];
    this.process = spawn(BINARY, [...args, ...this.args], { cwd: this.folder, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.process.stdout, this.process.stderr]) stream?.on('data', text => (this.said += text));
    await until(`the server is ready: ${this.said}`, () => this.isReady());
  }

  private async isReady(): Promise<boolean> {
    if (this.process?.exitCode !== null) throw new Error(`the server ended: ${this.said}`);
    return fetch(`${this.address}/readyz`).then(
      answer => answer.ok,
      () => false,
    );
  }

  /** Kills it as a crash would. */
  async kill(): Promise<void> {
    const ended = new Promise(done => this.process?.once('exit', done));
    this.process?.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    const ended = new Promise(done => this.process?.once('exit', done));
    this.process?.kill('SIGTERM');
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A file that the server writes, once it is there. */
  async file(name: string): Promise<string> {
    await until(`the server writes ${name}`, () => existsSync(join(this.folder, name)));
    return readFileSync(join(this.folder, name), 'utf8').trim();
  }

  /** Asks the API as a program would. */
  async ask<T = never>(method: string, path: string, body?: unknown, token?: string): Promise<T> {
    const isText = typeof body === 'string';
    const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
    if (body !== undefined) headers['content-type'] = isText ? 'application/yaml' : 'application/json';
    const answer = await fetch(this.address + path, {
      method,
      headers,
      body: body === undefined ? undefined : isText ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }
}
