"""Carry out each step of the Containerfile in a chroot, start what it starts as its user, and ask it a question.

    sudo python -m deploy.prove [--keep FOLDER]

Then start what the compose file starts, with its environment: PostgreSQL, two servers and a worker; kill the server
that answers, and hear the answer from the other. No container runtime is needed: `mmdebstrap` makes the base from the
packages that the image is made of, and the root is read-only once a service runs, as with ``read_only: true``.
PostgreSQL is Debian's. The embedded model is taken from the cache, if it is there.
"""

import argparse
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import yaml

ROOT = Path(__file__).parent.parent
SUITES = {"debian:bookworm-slim": "bookworm"}
PORT = 8321
PASSWORD = TOKEN = "a-token-for-the-proof"  # noqa: S105 - of nobody
QUESTION = "How long is the notice period?"
DOCUMENT = "The tenant may end the lease with a notice period of nine weeks."
VOLUME = "var/lib/self-rag"
DATABASE = "trixie"  # has pgvector 0.8
BINARIES = "/usr/lib/postgresql/17/bin"
OF_THE_HOST = ("pip_cert", "pip_index_url", "http_proxy", "https_proxy", "no_proxy")  # how it reaches packages
START_SECONDS, ASK_SECONDS = 300, 600


def main() -> None:
    """Build, start, ask, and say what held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="build the root here, and leave it")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="self-rag-root-"))
    try:
        prove(folder / "root")
    finally:
        if options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def prove(root: Path) -> None:
    """Carry out the Containerfile in ``root``."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    user, start, check, host = "0", [""], [""], dict[str, str]()
    for word, rest in instructions(ROOT / "deploy" / "Containerfile"):
        print(f"{word} {rest}", flush=True)
        match word:
            case "FROM":
                root.parent.mkdir(parents=True, exist_ok=True)
                ran("mmdebstrap", "--variant=minbase", SUITES[rest], str(root))
                shutil.copy("/etc/resolv.conf", root / "etc")
                host = {key: value for key, value in os.environ.items() if key.lower() in OF_THE_HOST}
            case "RUN":
                inside(root, host | environment, ["/bin/sh", "-ec", rest])
                if (certificates := Path(host.get("PIP_CERT", ""))).is_file() and (root / "etc/ssl/certs").is_dir():
                    shutil.copy(certificates, root / str(certificates).lstrip("/"))
            case "COPY":
                source, target = shlex.split(rest)
                for path in glob.glob(str(ROOT / source)):  # noqa: PTH207 - a pattern
                    shutil.copy(path, root / target.lstrip("/"))
            case "ENV":
                environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
            case "USER":
                user = rest
            case "ENTRYPOINT":
                start = json.loads(rest)
            case "CMD":
                start = [*start, *json.loads(rest)]
            case "HEALTHCHECK":
                check = json.loads(rest.removeprefix("CMD "))
            case _:
                assert word in ("EXPOSE", "VOLUME"), word
    served(root, environment, user, start, check)
    composed(root, environment, user, start)


def served(root: Path, environment: dict[str, str], user: str, start: Sequence[str], check: Sequence[str]) -> None:
    """Start the server over a read-only root, wait until it is healthy, and ask."""
    home = root / VOLUME
    (root / "etc/self-rag").mkdir(exist_ok=True)
    (root / "etc/self-rag/tokens").write_text(f"anna {TOKEN}\n")
    (root / "etc/self-rag/tokens").chmod(0o644)
    models = Path.home() / ".cache/selfrag/models"
    if models.is_dir():
        shutil.copytree(models, home / "models", dirs_exist_ok=True)
        for path in (home / "models", *(home / "models").rglob("*")):
            os.chown(path, int(user), int(user))
    environment = environment | {"SELFRAG_TOKENS_FILE": "/etc/self-rag/tokens", "HOME": "/" + VOLUME}
    server = subprocess.Popen(confined(root, environment, user, start))
    try:
        until(lambda: succeeds(*confined(root, environment, user, check)), server)
        status = Path(f"/proc/{server.pid}/status").read_text()
        held = [line for line in status.splitlines() if line.startswith(("Uid", "CapEff", "NoNewPrivs"))]
        print("\n".join(held))
        call("PUT", "/api/documents/lease.txt", DOCUMENT.encode())
        told = call("POST", "/api/ask", json.dumps({"question": QUESTION}).encode())
        print(f"{QUESTION} {told['outcome']}: {told['answer']}")
        assert "nine weeks" in told["answer"]
    finally:
        server.terminate()
        server.wait(60)
    print(f"ended with {server.returncode}")


def composed(root: Path, environment: dict[str, str], user: str, start: Sequence[str]) -> None:
    """Start the services of the compose file, add a document, kill the server that answers, and ask the other."""
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    given = {name: interpolated(value) for name, value in services["server"]["environment"].items()}
    environment = environment | given | {"HOME": "/" + VOLUME}
    (root / "etc/hosts").write_text("127.0.0.1 localhost postgres\n")
    (root / "documents").mkdir(exist_ok=True)
    (root / "documents/lease.txt").write_text(DOCUMENT)
    with ExitStack() as running:

        def started(*command: str) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen(confined(root, environment, user, command))
            running.callback(process.wait)
            running.callback(process.terminate)
            return process

        running.callback(database(root.parent / "database", services["postgres"]).terminate)
        first = started(*start)
        until(lambda: is_ready(PORT), first)
        second = started(*start, "--port", str(PORT + 1))
        until(lambda: is_ready(PORT + 1), second)
        started(start[0], *services["worker"]["command"])
        ran(*confined(root, environment, user, [start[0], "index", "/documents"]))
        question = json.dumps({"question": QUESTION}).encode()
        begun = time.monotonic()
        while "nine weeks" not in (call("POST", "/api/ask", question)["answer"] or ""):  # the sample answers otherwise
            assert time.monotonic() - begun < ASK_SECONDS
            time.sleep(5)
        asked = call("POST", "/api/runs", question)
        while call("GET", f"/api/runs/{asked['id']}")["state"] == "queued":
            time.sleep(0.1)
        first.kill()
        while (told := call("GET", f"/api/runs/{asked['id']}", port=PORT + 1))["state"] in ("queued", "running"):
            time.sleep(1)
        print(f"{QUESTION} {told['result']['outcome']}, from the other server: {told['result']['answer']}")
        assert "nine weeks" in told["result"]["answer"]


def database(root: Path, service: dict[str, Any]) -> "subprocess.Popen[bytes]":
    """Start a PostgreSQL as its image does, with the user, the password and the database of the compose file."""
    given = {name: interpolated(value) for name, value in service["environment"].items()}
    user, password, name = (given[f"POSTGRES_{what}"] for what in ("USER", "PASSWORD", "DB"))
    if not root.is_dir():
        packages = ",".join(f"postgresql-17{more}" for more in ("", "-pgvector"))
        ran("mmdebstrap", "--variant=minbase", f"--include={packages}", DATABASE, str(root))
    data = "/var/lib/postgresql/data"
    shutil.rmtree(root / data.lstrip("/"), ignore_errors=True)
    (root / "tmp/password").write_text(password)

    def command(program: str, *options: str) -> list[str]:
        return ["chroot", "--userspec=postgres:postgres", str(root), f"{BINARIES}/{program}", *options]

    ran(*command("initdb", "-D", data, "-U", user, "-A", "scram-sha-256", "--pwfile", "/tmp/password"))
    listening = ("listen_addresses=127.0.0.1", "unix_socket_directories=/tmp")
    server = subprocess.Popen(command("postgres", "-D", data, *(word for one in listening for word in ("-c", one))))
    until(lambda: succeeds(*command("pg_isready", "-h", "127.0.0.1", "-U", user)), server)
    os.environ["PGPASSWORD"] = password
    ran(*command("createdb", "-h", "127.0.0.1", "-U", user, name))
    return server


def interpolated(value: str) -> str:
    """Return a value of the compose file, its variables unset but for the password."""
    return re.sub(r"\$\{(\w+)[^}]*\}", lambda found: PASSWORD if found[1] == "POSTGRES_PASSWORD" else "", value)


def instructions(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Containerfile, each of one line."""
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest


def inside(root: Path, environment: dict[str, str], command: Sequence[str]) -> None:
    """Run a command in the root, which may be written, as its administrator."""
    given = [f"{name}={value}" for name, value in environment.items()]
    ran("chroot", str(root), "/usr/bin/env", "-i", *given, *command)


def confined(root: Path, environment: dict[str, str], user: str, command: Sequence[str]) -> list[str]:
    """Return what runs a command in the root, read-only but for its volume and /tmp, as the user without privileges."""
    given = " ".join(shlex.quote(f"{name}={value}") for name, value in environment.items())
    inner = (
        f"mount --bind {root} {root} && mount --bind {root}/{VOLUME} {root}/{VOLUME} && "
        f"mount -t proc proc {root}/proc && mount -t tmpfs tmpfs {root}/tmp && mount -o remount,ro,bind {root} && "
        f"exec chroot {root} /usr/bin/env -i {given} setpriv --reuid={user} --regid={user} --clear-groups "
        f"--no-new-privs --bounding-set=-all --inh-caps=-all {shlex.join(command)}"
    )
    return ["unshare", "--mount", "/bin/sh", "-ec", inner]


def until(holds: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    """Wait until something holds of a process that runs."""
    begun = time.monotonic()
    while not holds():
        assert process.poll() is None, "the process ended"
        assert time.monotonic() - begun < START_SECONDS, "the process is not ready"
        time.sleep(1)
    print(f"ready after {time.monotonic() - begun:.0f} s")


def succeeds(*command: str) -> bool:
    """Whether a command succeeds."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def is_ready(port: int) -> bool:
    """Whether a server says that questions may be sent to it."""
    try:
        return bool(call("GET", "/readyz", port=port))
    except URLError:
        return False


def call(method: str, path: str, body: bytes | None = None, port: int = PORT) -> dict[str, Any]:
    """Call a server with the token."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = Request(f"http://127.0.0.1:{port}{path}", body, headers, method=method)
    with urlopen(request, timeout=ASK_SECONDS) as answer:  # noqa: S310 - of this machine
        return dict(json.load(answer))


def ran(*command: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
