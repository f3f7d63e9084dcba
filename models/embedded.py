"""Run the embedded chat model inside this process, behind an OpenAI-compatible server on a loopback port."""

import atexit
import http.client
import json
import math
import os
import secrets
import socket
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from core.errors import ModelError
from models.prefix_cache import Prefixes, file_identity

# One slot: requests that share a prefix queue up in it and each reads only what is new. With more slots,
# those that arrive together each read the whole prefix: llama.cpp takes none from a slot that is at work.
PARALLEL = 1
CONTEXT_TOKENS = 16_384
CACHED_PROMPTS_MIB = 1024  # prefixes that left the slot wait here, about 28 KiB a token
# A prompt is read so many tokens at a time, and a request can be given up between two of them only. Smaller batches end
# sooner, and change probabilities: with 64, those after a kept prefix were 0.1 off in the logarithm.
BATCH_TOKENS = 512
_HOST = "127.0.0.1"
_HTTP_THREADS = 32  # a kept-alive connection holds one
_QUIET = -1


class Endpoint(NamedTuple):
    """Where an OpenAI-compatible client finds the model."""

    base_url: str
    api_key: str


class EmbeddedServer:
    """llama.cpp serving one GGUF file on 127.0.0.1, on a free port, to whoever holds the random key.

    ``context_tokens`` bounds prompt and reply together. ``threads`` defaults to the cores that this process
    may use. Use as a context manager, or call ``start`` and ``stop``; a stopped server can be started again.
    What it has read of the prompts of ``prefixes`` outlives it: a server that is idle when it is stopped writes
    it down, and the next one begins with it.
    """

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        parallel: int = PARALLEL,
        threads: int | None = None,
        prefixes: Prefixes | None = None,
    ) -> None:
        self.path = path
        self._prefixes = prefixes if prefixes and prefixes.open() else None
        self._context_tokens = context_tokens
        self._parallel = parallel
        self._threads = threads or usable_cores()
        self._lock = threading.Lock()
        self._server: Any = None
        self._endpoint: Endpoint | None = None
        self._wire: _Wire | None = None

    def start(self) -> Endpoint:
        """Load the model, if it is not loaded; return where it is served. Raises ModelError if it cannot be.

        Loading takes seconds in which no other Python code of this process runs: llama.cpp's binding holds
        the interpreter's lock meanwhile.
        """
        with self._lock:
            if self._endpoint is None:
                # An interrupt is raised in the main thread alone: in the binding, it would leave a server that was
                # given up before its loop runs, which never stops.
                with ThreadPoolExecutor(1, "self-rag load") as thread:
                    return thread.submit(self._load).result()
            return self._endpoint

    def stop(self) -> None:
        """End the server and free the model's memory; requests under way fail. Done at exit by itself."""
        with self._lock:
            if self._wire is not None:
                atexit.unregister(self.stop)
                interrupted = getattr(sys, "last_type", None) is KeyboardInterrupt  # and the program ends of it
                if self._prefixes and not interrupted:
                    with suppress(KeyboardInterrupt):  # whoever is in a hurry need not wait
                        self._prefixes.keep(self._wire)
                _cut_connections(self._wire.port)
                self._server = self._endpoint = self._wire = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _load(self) -> Endpoint:
        xllamacpp = _binding()
        key = secrets.token_urlsafe(32)
        try:
            self._server = xllamacpp.Server(self._parameters(xllamacpp, key))
        except RuntimeError as error:
            raise ModelError(
                f"The model file {self.path} could not be loaded: it is missing, damaged, of a kind "
                "that llama.cpp does not know, or too large for this machine's memory; run "
                "`python -m app pull`, or set SELFRAG_MODEL_PATH to another GGUF file."
            ) from error
        port = int(self._server.listening_address.rpartition(":")[2])
        self._wire = _Wire(port, key)
        # Stopped before its loop runs, the server would never stop.
        self._wire("/lora-adapters")
        atexit.register(self.stop)
        if self._prefixes:
            self._prefixes.restore(self._wire, self._identity(xllamacpp.__version__))
        self._endpoint = Endpoint(f"http://{_HOST}:{port}/v1", key)
        return self._endpoint

    def _parameters(self, xllamacpp: Any, key: str) -> Any:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self.path)
        parameters.model_alias = {self.path.stem}
        parameters.verbosity = _QUIET
        parameters.hostnames = [_HOST]
        parameters.port = 0  # any that is free
        parameters.api_keys = [key]
        parameters.ui = False
        parameters.endpoint_slots = parameters.endpoint_metrics = parameters.endpoint_props = False
        parameters.n_threads_http = _HTTP_THREADS
        parameters.n_ctx = self._context_tokens
        parameters.n_parallel = self._parallel
        parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
        parameters.kv_unified = True
        parameters.cache_ram_mib = CACHED_PROMPTS_MIB
        parameters.cache_idle_slots = False  # no gain with one slot, and reported to mix up prompts with more
        parameters.warmup = False  # the first prompt warms as well
        # Looking for what fits a graphics card's memory opens the model once more: 0.4 of 3 seconds' work.
        parameters.fit_params = _has_card(xllamacpp)
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = self._threads
        if self._prefixes:
            parameters.slot_save_path = f"{self._prefixes.folder}{os.sep}"
            parameters.endpoint_metrics = True
        return parameters

    def _identity(self, version: str) -> str:
        """What a kept prefix depends on besides its text."""
        return f"{version} {file_identity(self.path)} {self._context_tokens} {self._parallel}"


_servers: dict[Path, EmbeddedServer] = {}
_servers_lock = threading.Lock()


def serve(path: Path, prefixes: Prefixes | None = None) -> EmbeddedServer:
    """Return this process's one running server for the file, loaded at the first call, whose ``prefixes`` count."""
    path = path.resolve()
    with _servers_lock:
        server = _servers.get(path)
        if server is None:
            server = _servers[path] = EmbeddedServer(path, prefixes=prefixes)
    server.start()
    return server


def is_serving() -> bool:
    """Whether this process was asked to serve a model."""
    return bool(_servers)


def usable_cores() -> int:
    """Count the physical cores this process may use, as its affinity and its control group allow.

    Elsewhere than on Linux -1, which leaves the choice to llama.cpp; it knows no control groups.
    """
    if sys.platform != "linux":
        return -1
    allowed = os.sched_getaffinity(0)
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    siblings = {_read(Path(topology.format(cpu))) or str(cpu) for cpu in allowed}
    quota, _, period = _read(Path("/sys/fs/cgroup/cpu.max")).partition(" ")
    if quota.isdigit() and period.isdigit():
        return max(1, min(len(siblings), math.ceil(int(quota) / int(period))))
    return len(siblings)


class _Wire:
    """Requests of this module's own to the server, one connection each."""

    def __init__(self, port: int, key: str) -> None:
        self.port = port
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def __call__(self, path: str, body: Mapping[str, Any] | None = None) -> str:
        connection = http.client.HTTPConnection(_HOST, self.port, timeout=60)
        try:
            connection.request(
                "GET" if body is None else "POST", path, None if body is None else json.dumps(body), self._headers
            )
            response = connection.getresponse()
            reply = response.read().decode()
        except http.client.HTTPException as error:
            raise OSError(f"{path}: {error!r}") from error
        finally:
            connection.close()
        if response.status != http.HTTPStatus.OK:
            raise OSError(f"{path}: HTTP {response.status}")
        return reply


def _cut_connections(port: int) -> None:
    """Shut the connections to the server, from whichever end: it waits for its last request when it stops.

    It does so holding the interpreter's lock, so that nobody could close them later.
    """
    try:
        descriptors = [int(entry.name) for entry in Path("/dev/fd").iterdir()]
    except OSError:  # not on this platform
        return
    for descriptor in descriptors:
        try:
            connection = socket.socket(fileno=os.dup(descriptor))
        except OSError:  # no socket, or closed meanwhile
            continue
        with connection:
            try:
                if (_HOST, port) in (connection.getsockname(), connection.getpeername()):
                    connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # not connected
                continue


def _has_card(xllamacpp: Any) -> bool:
    cpu = xllamacpp.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU
    return any(device["type"] != cpu for device in xllamacpp.get_device_info())


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except OSError:
        return ""


def _binding() -> Any:
    # llama.cpp's threads meet at barriers many times a token. Waiting there by spinning, the default, takes
    # the core from the thread waited for as soon as another program is busy: 0.4 tokens/s were seen, not 8.
    # The OpenMP library reads this when it is loaded, hence before the import; the user's own choice stands.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError as error:
        raise ModelError(
            f"The embedded model cannot run here ({error}): install what is missing (libgomp1 on Debian and "
            "Ubuntu), or set OPENAI_BASE_URL to a model server."
        ) from error
    return xllamacpp
