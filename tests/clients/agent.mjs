// An MCP client with the official SDK for JavaScript: does what the lines on stdin say, one JSON answer a line.
// Its argument: {"command": [...], "env": {...}} for stdio, or {"url": ..., "token": ...} for HTTP.
import { createInterface } from "node:readline";

const sdk = process.env.MCP_SDK;
const { Client } = await import(`${sdk}/dist/esm/client/index.js`);
const { StdioClientTransport } = await import(`${sdk}/dist/esm/client/stdio.js`);
const { StreamableHTTPClientTransport } = await import(`${sdk}/dist/esm/client/streamableHttp.js`);
const { ToolListChangedNotificationSchema } = await import(`${sdk}/dist/esm/types.js`);

const target = JSON.parse(process.argv[2]);
const client = new Client({ name: "test", version: "1" });
let changes = 0;
let wake = () => {};
client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
  changes += 1;
  wake();
});

function transport() {
  if (target.command) {
    const [command, ...args] = target.command;
    return new StdioClientTransport({ command, args, env: { ...process.env, ...target.env }, stderr: "inherit" });
  }
  const headers = target.token ? { authorization: `Bearer ${target.token}` } : {};
  return new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } });
}

const acts = {
  async tools() {
    const pages = [];
    let cursor;
    do {
      const page = await client.listTools(cursor ? { cursor } : {});
      pages.push(page.tools);
      cursor = page.nextCursor;
    } while (cursor);
    return { pages: pages.length, tools: pages.flat() };
  },
  async call({ name, arguments: given }) {
    return client.callTool({ name, arguments: given });
  },
  async watch() {
    return {};
  },
  async changed() {
    while (changes === 0) {
      await new Promise((resolve) => (wake = resolve));
    }
    changes = 0;
    return {};
  },
};

async function main() {
  await client.connect(transport());
  const capabilities = client.getServerCapabilities();
  console.log(JSON.stringify({ ok: { capabilities, instructions: client.getInstructions() } }));
  for await (const line of createInterface({ input: process.stdin })) {
    const { act, ...given } = JSON.parse(line);
    try {
      console.log(JSON.stringify({ ok: await acts[act](given) }));
    } catch (error) {
      console.log(JSON.stringify({ error: String(error.message) }));
    }
  }
  await client.close();
}

main().catch((error) => {
  console.log(JSON.stringify({ error: String(error.message) }));
  process.exit(1);
});
