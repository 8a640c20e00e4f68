"""An agent with a login like those of the vendors: a short-lived access token, and a refresh token that works once.

Its argument is the address of the token server. The lines of its prompt that begin with `@` are its steps. Its
login and settings are in the folder FAKE_HOME, or in `.fake` in its home.
"""

import http.client
import json
import os
import subprocess
import sys
import time

SERVER = sys.argv[1]
FOLDER = os.environ.get("FAKE_HOME") or os.path.join(os.environ["HOME"], ".fake")
LOGIN = os.path.join(FOLDER, "login.json")


def send(**frame):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
    sys.stdout.flush()


def call(path, **fields):
    connection = http.client.HTTPConnection(SERVER, timeout=60)
    connection.request("POST", path, json.dumps(fields))
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def read():
    with open(LOGIN) as file:
        return json.load(file)


def write(login):
    """Writes in place and in two steps, as many agents do."""
    text = json.dumps(login, indent=2)
    with open(LOGIN, "w") as file:
        file.write(text[:20])
        file.flush()
        time.sleep(0.02)
        file.write(text[20:])


def refresh(login):
    status, answer = call("/token", refresh=login["oauth"]["refreshToken"])
    assert status == 200, "the refresh token was refused"
    login["oauth"].update(answer)
    write(login)


def now_ms():
    """Returns the time; tests shift it with a file beside the program."""
    try:
        with open(os.path.join(os.path.dirname(__file__), "ahead")) as file:
            return time.time() * 1000 + float(file.read())
    except FileNotFoundError:
        return time.time() * 1000


def use():
    """Calls the model with a token that has not expired."""
    key = os.environ.get("FAKE_KEY")
    if key:
        status, _ = call("/use", access=key)
        assert status == 200, "the key was refused"
        return
    login = read()
    if login["oauth"]["expiresAt"] <= now_ms():
        refresh(login)
        login = read()
    status, _ = call("/use", access=login["oauth"]["accessToken"])
    assert status == 200, "the access token was refused"


def wait(gate):
    open(gate + ".reached", "w").close()
    while not os.path.exists(gate):
        time.sleep(0.02)


def force():
    refresh(read())


def blank():
    write({"oauth": {"accessToken": "", "refreshToken": "", "expiresAt": 0}})


def truncate():
    open(LOGIN, "w").close()


def delete():
    os.remove(LOGIN)


def backdate():
    login = read()
    login["oauth"] = {"accessToken": "stale", "refreshToken": "stale", "expiresAt": 1_600_000_000_000}
    write(login)


def plant():
    """Plants a valid login of another account."""
    login = read()
    login["oauth"] = {"accessToken": "theirs", "refreshToken": "theirs", "expiresAt": 4_000_000_000_000}
    login["account"] = "eve"
    write(login)


def pipe():
    os.remove(LOGIN)
    os.mkfifo(LOGIN)


def lead_out(path):
    os.rename(FOLDER, FOLDER + "-old")
    os.symlink(path, FOLDER)


def has_no_refresh_token():
    assert read()["oauth"]["refreshToken"] == ""


def meddle():
    """Changes every setting, and adds a hook."""
    os.makedirs(os.path.join(FOLDER, "hooks"), exist_ok=True)
    for name in ("settings.json", "hooks/stop.sh", "hooks/mine.sh"):
        with open(os.path.join(FOLDER, name), "a") as file:
            file.write("changed by an agent\n")


def expect(*words):
    text = " ".join(words)
    with open(os.path.join(FOLDER, "settings.json")) as file:
        found = file.read()
    assert text in found, found


def has_no_login():
    assert not os.path.exists(LOGIN), os.listdir(FOLDER)


def complete():
    arguments = json.dumps({"summary": "done"})
    tool = ["pitcrew", "tool", "orchestrator_complete_task", "--json", arguments]
    subprocess.run(tool, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def act(text):
    for line in text.splitlines():
        if line.startswith("@"):
            name, *arguments = line[1:].split()
            globals()[name](*arguments)


def main():
    for line in iter(sys.stdin.readline, ""):
        frame = json.loads(line)
        method, number = frame.get("method"), frame.get("id")
        if method == "initialize":
            send(id=number, result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            send(id=number, result={"sessionId": "s"})
        elif method == "session/prompt":
            act(frame["params"]["prompt"][0]["text"])
            send(id=number, result={"stopReason": "end_turn"})


main()
