"""An MCP client with the official SDK for Python: does what the lines on stdin say, one JSON answer a line.

Its argument: {"command": [...], "env": {...}} for stdio, or {"url": ..., "token": ...} for HTTP.
"""

import asyncio
import contextlib
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def say(answer):
    print(json.dumps(answer), flush=True)


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def connection(target):
    if "command" in target:
        command, *arguments = target["command"]
        environment = {**os.environ, **target.get("env", {})}
        return StdioServerParameters(command=command, args=arguments, env=environment)
    token = target.get("token")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return streamable_http_client(target["url"], http_client=httpx2.AsyncClient(headers=headers, timeout=60))


class Acts:
    def __init__(self, client, stack):
        self.client, self.stack, self.events = client, stack, None

    async def tools(self):
        pages, cursor = [], None
        while True:
            page = plain(await self.client.list_tools(cursor=cursor))
            pages.append(page["tools"])
            cursor = page.get("nextCursor")
            if cursor is None:
                return {"pages": len(pages), "tools": [tool for page in pages for tool in page]}

    async def call(self, name, arguments):
        return plain(await self.client.call_tool(name, arguments))

    async def watch(self):
        self.events = await self.stack.enter_async_context(self.client.listen(tools_list_changed=True))
        return {}

    async def changed(self):
        await anext(self.events)
        return {}


async def main():
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(connection(json.loads(sys.argv[1]))))
        acts = Acts(client, stack)
        say({"ok": {"version": client.protocol_version, "instructions": client.instructions}})
        while line := await asyncio.to_thread(sys.stdin.readline):
            given = json.loads(line)
            try:
                say({"ok": await getattr(acts, given.pop("act"))(**given)})
            except Exception as error:
                say({"error": str(error)})


def reason(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


try:
    asyncio.run(main())
except BaseException as error:
    say({"error": reason(error)})
    sys.exit(1)
