"""Run a program in a network that leads nowhere, and write down every look-up and connection that it tries.

``python -m tests.integration.namespace NOTES SECONDS COMMAND …`` within ``unshare --net --mount``. The network has a
name server that knows every name, and a model server whose first reply takes so many seconds; OPENAI_BASE_URL names it
where it names any.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.command_line import Program

NAME_SERVER = "127.0.0.53"
ANYWHERE = "203.0.113.7"
TCP, UDP, SYN, ACK = 6, 17, 0x02, 0x10
Notes = dict[str, list[str]]
_UNSHARE, _IP, _MOUNT = (shutil.which(name) or name for name in ("unshare", "ip", "mount"))


def unshared() -> list[str]:
    """The command under which `main` may run. Skips the test where this machine gives no namespace."""
    for command in ([_UNSHARE, "--net", "--mount"], [_UNSHARE, "--net", "--mount", "--map-root-user"]):
        if all(map(shutil.which, (_UNSHARE, _IP, _MOUNT))):
            trial = [*command, "sh", "-c", "mount --bind /etc/resolv.conf /etc/resolv.conf && ip link set lo up"]
            if subprocess.run(trial, capture_output=True, check=False).returncode == 0:
                return [*command, sys.executable, "-m", __name__]
    pytest.skip("no network namespace can be made here: it takes Linux, iproute2, and root or user namespaces")


def run_alone(program: Program, folder: Path, *arguments: str, first_reply: float = 0, **environment: str) -> Notes:
    """Run ``python -m app`` in such a network, whose model server first replies after so many seconds; all notes."""
    notes, temporary = folder / "notes.json", folder / "temporary"
    temporary.mkdir()
    ended = subprocess.run(
        [*unshared(), str(notes), str(first_reply), sys.executable, "-m", "app", *arguments],
        cwd=program.folder,
        env={**program.environment, "TMPDIR": str(temporary), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert ended.returncode == 0, ended.stderr
    found: Notes = json.loads(notes.read_text())
    return found


def written_by(folder: Path, program: Program) -> list[str]:
    """The files below the folder that are neither the program's own nor the user's documents."""
    own = (Path(program.environment["SELFRAG_HOME"]), folder / "docs", folder / "notes.json")
    files = [path for path in folder.rglob("*") if not path.is_dir()]
    return sorted(str(path.relative_to(folder)) for path in files if not any(map(path.is_relative_to, own)))


def lead_everything_here(folder: Path) -> None:
    """Make each address one of this machine, and each name one of our own name server's."""
    for family in ("-4", "-6"):
        subprocess.run([_IP, family, "link", "set", "lo", "up"], check=True)
        subprocess.run([_IP, family, "route", "add", "local", "default", "dev", "lo"], check=family == "-4")
    for name, text in (("resolv.conf", f"nameserver {NAME_SERVER}\n"), ("nsswitch.conf", "hosts: files dns\n")):
        if Path("/etc", name).exists():
            (folder / name).write_text(text)
            subprocess.run([_MOUNT, "--bind", folder / name, Path("/etc", name)], check=True)


def serve_names(notes: Notes) -> None:
    """Answer each question for an address with the same one, so that a connection is tried."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((NAME_SERVER, 53))

    def serve() -> None:
        while True:
            query, sender = server.recvfrom(4096)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii", "replace"))
                at += query[at] + 1
            notes["names"].append(".".join(labels))
            (kind,) = struct.unpack_from("!H", query, at + 1)
            found = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(ANYWHERE) if kind == 1 else b""
            counts = struct.pack("!4H", 1, bool(found), 0, 0)
            server.sendto(query[:2] + b"\x81\x80" + counts + query[12 : at + 5] + found, sender)

    threading.Thread(target=serve, daemon=True).start()


def watch_packets(notes: Notes) -> None:
    """Note where each TCP connection and each datagram goes, but for those to the name server."""
    watching = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))

    def watch() -> None:
        while True:
            packet, (*_, direction, _, _) = watching.recvfrom(65_535)
            if direction != socket.PACKET_OUTGOING:
                continue
            if packet[0] >> 4 == 4:
                head, protocol, to = (packet[0] & 15) * 4, packet[9], socket.inet_ntop(socket.AF_INET, packet[16:20])
            else:
                head, protocol, to = 40, packet[6], socket.inet_ntop(socket.AF_INET6, packet[24:40])
            begins = protocol == TCP and packet[head + 13] & (SYN | ACK) == SYN
            if begins or (protocol == UDP and NAME_SERVER not in (to, socket.inet_ntoa(packet[12:16]))):
                (port,) = struct.unpack_from("!H", packet, head + 2)
                notes["connections"].append(f"{to} {port}")

    threading.Thread(target=watch, daemon=True).start()


def main(path: Path, seconds: float, command: list[str]) -> int:
    """Run the command and write down what it tried; return its exit code."""
    from tests.integration.openai_server import Asked, Fault, serving

    notes: Notes = {"names": [], "connections": [], "server": []}
    with TemporaryDirectory() as folder, serving() as server:
        lead_everything_here(Path(folder))
        serve_names(notes)
        watch_packets(notes)
        first = threading.Lock()

        def slowly(asked: Asked) -> Fault | None:
            if first.acquire(blocking=False):
                time.sleep(seconds)
            return None

        server.always = slowly
        address = server.base_url.split("/")[2]
        notes["server"].append(address.replace(":", " "))
        named = {"OPENAI_BASE_URL": server.base_url} if os.environ.get("OPENAI_BASE_URL") else {}
        code = subprocess.run(command, env={**os.environ, **named}, check=False).returncode
        time.sleep(0.2)  # for what is still on its way through the kernel
    path.write_text(json.dumps(notes))
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
