# SPDX-License-Identifier: Apache-2.0
"""test_mcp.py PACKAGE MEMTAP MAKE_TRACES: an assistant's client, of the protocol's own SDK, asks python -m memtap.mcp. Skipped (77) where
neither MEMTAP_TEST_MCP nor MEMTAP_TEST_PYTHON names a Python with the package mcp."""
import os
import subprocess
import sys
import tempfile

package, command, make_traces = map(os.path.abspath, sys.argv[1:])
CLIENT = """
import anyio, json, os, subprocess, sys
from mcp import Client, StdioServerParameters

ENV = {**os.environ, "PYTHONPATH": sys.argv[1], "MEMTAP": sys.argv[2]}


def own(*arguments):
    return json.loads(subprocess.run([sys.argv[2], *arguments], capture_output=True, check=True).stdout)


async def main():
    async with Client(StdioServerParameters(command=sys.executable, args=["-m", "memtap.mcp"], env=ENV, cwd=os.getcwd())) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"report", "oom", "plan", "diff", "blocks"}, tools
        assert tools["diff"].input_schema["required"] == ["old", "new"] and "certain" in tools["report"].description

        async def ask(name, **arguments):
            result = await client.call_tool(name, arguments)
            assert not result.is_error, (name, result)
            assert json.loads(result.content[0].text) == result.structured_content
            return result.structured_content
        assert await ask("report", trace="training.mtap") == own("report", "-f", "json", "training.mtap")
        assert await ask("report", trace="training.mtap", at="end") == own("report", "-f", "json", "--at", "end", "training.mtap")
        assert await ask("oom", trace="oom.mtap") == own("oom", "-f", "json", "oom.mtap")
        assert await ask("diff", old="training.mtap", new="layers.mtap") == own("diff", "-f", "json", "training.mtap", "layers.mtap")
        assert (await ask("plan", trace="planned.mtap", memory="24GiB"))["settings"]
        found = await ask("blocks", trace="training.mtap", top=3)
        assert found == own("blocks", "-f", "json", "--at", "peak", "--sort", "bytes", "--top", "3", "training.mtap")
        for trace in ("nothing.mtap", "--help", "d\\u0000"):
            result = await client.call_tool("report", {"trace": trace})
            assert result.is_error, trace
        result = await client.call_tool("report", {"trace": "training.mtap", "at": "--help"})
        assert result.is_error and "unknown moment" in str(result.content), result
        result = await client.call_tool("report", {"trace": "nothing.mtap"})
        assert "nothing.mtap" in result.content[0].text and "memtap:" not in result.content[0].text, result
        assert (await client.call_tool("report", {})).is_error
        assert await ask("oom", trace="oom.mtap"), "it serves on after errors"

anyio.run(main)
"""
named = [os.environ.get(name, "") for name in ("MEMTAP_TEST_MCP", "MEMTAP_TEST_PYTHON")]
python = next((one for one in named if one and not subprocess.run([one, "-c", "import mcp.server.mcpserver"], capture_output=True,
                                                                  check=False).returncode), None)
bare = subprocess.run([sys.executable, "-S", "-m", "memtap.mcp"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                      env={**os.environ, "PYTHONPATH": package})
assert bare.returncode == 2 and bare.stderr.count("\n") == 1 and 'pip install "memtap[mcp]"' in bare.stderr and not bare.stdout, bare
# An answer that no assistant can use takes no memory: the command, here one without an end, is ended.
ENDLESS = """
import sys
from memtap import mcp
from memtap.command import Problem
try:
    mcp.blocks("a.mtap")
except Problem as problem:
    sys.exit(str(problem))
"""
with tempfile.TemporaryDirectory() as folder:
    endless = os.path.join(folder, "endless")
    with open(endless, "w", encoding="ascii") as script:
        script.write("#!/bin/sh\nexec yes ' '\n")
    os.chmod(endless, 0o755)
    refused = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, check=False, timeout=600,
                             env={**os.environ, "PYTHONPATH": package, "MEMTAP": endless})
assert refused.returncode == 1 and "memtap blocks exceeds 8 MiB; request less" in refused.stderr, refused
if not python:
    print("no Python with the package mcp: MEMTAP_TEST_MCP names one")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([make_traces, "."], check=True, cwd=folder)
    subprocess.run([python, "-c", CLIENT, package, command], check=True, cwd=folder, timeout=600)
print("the client and the server agree")
