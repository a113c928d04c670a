"""An agent without a model: it looks at the shop, proposes the repair that fits, and waits until a person approved it.

It knows nothing but what the tools of `sprag mcp` tell it. Its token is SPRAG_TOKEN, the server SPRAG_SERVER.
"""

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters

ENDED = ("completed", "failed", "cancelled", "rejected", "expired")


async def call(sprag, tool, **arguments):
    """What a tool tells, as data: the texts in it are never read as instructions."""
    result = await sprag.call_tool(tool, arguments)
    if result.is_error:
        sys.exit(f"{tool}: {result.structured_content['error']['detail']}")
    return result.structured_content


async def follow(sprag, workflow):
    while workflow["status"] not in ENDED:
        await asyncio.sleep(0.5)
        workflow = await call(sprag, "workflow_status", id=workflow["id"])
    return workflow


async def look(sprag):
    """What the low-risk operation `shop.look` saw. It needs no approval."""
    workflow = await follow(sprag, await call(sprag, "shop_look", reason="find out whether the shop is well"))
    return workflow["steps"][0]["result"]["data"]


def repair(seen):
    """The tool that repairs what was seen, and why; none if all is well."""
    shop, stock = seen["shop"], seen["stock"]
    if shop["process"] == "ended":
        return "shop_start", "the process of the shop has ended"
    if shop["status"] == 500:
        return "shop_restore-config", f"the shop refuses its configuration: {shop['text'][:200]}"
    if not stock["answers"]:
        return "stock_restart", f"the stock service gave no answer within {stock['millis']} ms"
    if shop["status"] == 200:
        return None
    sys.exit(f"no repair is known for this: {seen}")


async def main():
    command = StdioServerParameters(command="sprag", args=["mcp"], env=dict(os.environ))
    async with Client(command) as sprag:
        found = repair(await look(sprag))
        if found is None:
            print("the shop is well")
            return
        tool, reason = found
        plan = await call(sprag, tool, reason=reason)
        print(f"proposed {tool}: {reason}")
        print(f"to approve it: sprag workflow approve {plan['id']} --digest {plan['digest']}", flush=True)
        ended = await follow(sprag, plan)
        if ended["status"] != "completed" or repair(await look(sprag)):
            sys.exit(f"the repair did not help: the workflow is {ended['status']}")
        print("the shop is well again")


asyncio.run(main())
