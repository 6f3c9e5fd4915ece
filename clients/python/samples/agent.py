"""An agent with a key for one person, in asyncio."""

import asyncio
import os

from keepsake import AsyncAgent, AsyncClient


async def main() -> None:
    url = os.environ["KEEPSAKE_URL"]
    async with AsyncClient(url, os.environ["KEEPSAKE_KEY"]) as client:
        bound = await client.api_keys.create(name="assistant", scopes=["memory:read", "memory:write"], subject_id="sample-4712")
    assert bound.key is not None
    async with AsyncAgent(url, bound.key) as agent:
        await agent.remember("She drinks tea without sugar.", kind="preference")
        prompt = await agent.context("What does she drink?", max_tokens=200)
        print(len(prompt.memory_ids), "without sugar" in prompt.text)


asyncio.run(main())
