# SPDX-License-Identifier: Apache-2.0
"""test_live_view.py MAKE-TRACES MEMTAP: memtap view --live with a browser that stays in the foreground: it is served while it runs, no
signal is blocked in it, and the address's secret is not in its command line but in a file for its owner alone, which is gone at the end."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

make_traces, memtap = map(os.path.abspath, sys.argv[1:3])
BROWSER = """#!%s
import json, os, re, stat, sys, urllib.request
page = open(sys.argv[1]).read()
url = re.search('url=(http[^"]*)"', page).group(1)
state = urllib.request.urlopen(url + "state", timeout=60).read().decode()
blocked = re.search("SigBlk:\\\\s*(\\\\S+)", open("/proc/self/status").read()).group(1)
mode = stat.S_IMODE(os.stat(sys.argv[1]).st_mode)
with open("browser.part", "w") as out:
    json.dump({"arguments": sys.argv[1:], "url": url, "state": state, "blocked": int(blocked, 16), "mode": mode, "pid": os.getpid()}, out)
os.rename("browser.part", "browser.json")
import signal
signal.pause()
"""


def refused(url):
    try:
        urllib.request.urlopen(url, timeout=60)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_traces], check=True, stdout=subprocess.DEVNULL)
    os.mkdir("bin")
    pathlib.Path("bin/xdg-open").write_text(BROWSER % sys.executable, encoding="utf-8")
    os.chmod("bin/xdg-open", 0o755)
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "DISPLAY": ":99", "TMPDIR": folder}
    view = subprocess.Popen([memtap, "view", "--live", "training.mtap"], env=env, stdout=subprocess.PIPE, text=True)
    line = view.stdout.readline()
    url = next((word for word in line.split() if word.startswith("http://127.0.0.1:")), None)
    assert url, line
    while not os.path.exists("browser.json"):
        assert view.poll() is None, view.returncode
        subprocess.run(["sleep", "0.02"], check=True)
    seen = json.loads(pathlib.Path("browser.json").read_text(encoding="utf-8"))
    secret = url.split("/")[3]
    assert seen["url"] == url and json.loads(seen["state"])["running"] is False, seen
    assert not any(secret in word for word in seen["arguments"]) and seen["mode"] == 0o600, seen
    assert seen["blocked"] == 0, seen
    base = url.removesuffix(secret + "/")
    for wrong in ("", secret[:-1], secret[:-1] + ("0" if secret[-1] != "0" else "1"), "0" + secret[1:] if secret[0] != "0" else "1" + secret[1:]):
        assert refused(f"{base}{wrong}/state") == 404, wrong
    assert refused(url + "state") == 200
    page = seen["arguments"][0]
    os.kill(seen["pid"], signal.SIGKILL)
    view.send_signal(signal.SIGTERM)
    assert view.wait() == 0 and not os.path.exists(page)
