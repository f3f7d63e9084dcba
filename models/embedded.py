"""Run the embedded chat model in this process, behind an OpenAI-compatible server on a loopback port."""

import atexit
import http.client
import json
import math
import os
import secrets
import socket
import sys
import threading
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from langchain_core.messages import BaseMessage

from core.errors import ModelError
from models.prefix_cache import Prefixes

# One slot: requests that share a prefix queue for it and each reads only what is new. With more slots, requests
# that arrive together each read the whole prefix: llama.cpp does not copy one from a busy slot.
PARALLEL = 1
CONTEXT_TOKENS = 16_384
# The prompt cache holds prompts that left the slot; a passage and the fixed part before it take about 45 MiB.
CACHED_PROMPTS_MIB = 4096  # limit of the prompt cache, which drops the oldest prompts first
CACHED_PROMPTS_SHARE = 1 / 8  # second limit, as a share of the memory
# Prompt tokens read in one batch; a request can be cancelled only between batches. Smaller batches end sooner, but
# change probabilities: with 64, log-probabilities after a restored prefix were off by 0.1.
BATCH_TOKENS = 512
_HOST = "127.0.0.1"
_HTTP_THREADS = 32  # each kept-alive connection occupies one
_QUIET = -1


class Endpoint(NamedTuple):
    """The URL and key with which an OpenAI-compatible client reaches the model."""

    base_url: str
    api_key: str


class EmbeddedServer:
    """llama.cpp serving one GGUF file on a free port of 127.0.0.1, protected by a random key.

    ``context_tokens`` limits prompt and reply together. Use as a context manager, or call ``start`` and ``stop``; a
    stopped server can be started again. The model's state after reading ``prefixes`` is persistent: a server that is
    idle when stopped saves the state, and the next server restores it. ``adapters`` are LoRA files; a request names an
    adapter by its position among them.
    """

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        prefixes: Prefixes | None = None,
        adapters: Sequence[Path] = (),
    ) -> None:
        self.path = path
        self.adapters = adapters
        self._prefixes = prefixes if prefixes and prefixes.open() else None
        self._context_tokens = context_tokens
        self._lock = threading.Lock()
        self._server: Any = None
        self._endpoint: Endpoint | None = None
        self._client: _ServerClient | None = None

    def note(self, messages: Sequence[BaseMessage]) -> None:
        """Note the messages of a client's call, so that the prefixes in use are saved."""
        if self._prefixes:
            self._prefixes.note(messages)

    def start(self) -> Endpoint:
        """Load the model if it is not loaded, and return its endpoint. Raises ModelError if it cannot be loaded.

        Loading takes seconds in which no other Python code of this process runs: llama.cpp's binding holds the GIL.
        """
        with self._lock:
            if self._endpoint is None:
                # KeyboardInterrupt is raised in the main thread only: inside the binding it would abandon a server
                # before its loop runs, and such a server never stops.
                with ThreadPoolExecutor(1, "self-rag load") as thread:
                    return thread.submit(self._load).result()
            return self._endpoint

    def request(self, path: str, body: Mapping[str, Any] | None = None) -> str:
        """Return the reply to a request of llama.cpp's own API, a POST if there is a body; raise OSError on failure."""
        if self._client is None:
            raise OSError(f"{path}: the server is not started")
        return self._client(path, body)

    def stop(self) -> None:
        """Stop the server and free the model's memory; running requests fail. Called at exit automatically."""
        with self._lock:
            if self._client is not None:
                atexit.unregister(self.stop)
                interrupted = getattr(sys, "last_type", None) is KeyboardInterrupt  # an interrupt ends the program
                if self._prefixes and not interrupted:
                    with suppress(KeyboardInterrupt):  # an impatient user need not wait
                        self._prefixes.keep(self._client)
                _shut_connections(self._client.port)
                self._server = self._endpoint = self._client = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
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
        self._client = _ServerClient(port, key)
        # Wait until its loop runs: a server stopped before that would never stop.
        self._client("/lora-adapters")
        atexit.register(self.stop)
        if self._prefixes:
            # What a saved prefix depends on besides its text.
            model = self.path.stat()
            identity = f"{xllamacpp.__version__} {model.st_size} {model.st_mtime_ns} {self._context_tokens}"
            self._prefixes.restore(self._client, identity)
        self._endpoint = Endpoint(f"http://{_HOST}:{port}/v1", key)
        return self._endpoint

    def _parameters(self, xllamacpp: Any, key: str) -> Any:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self.path)
        parameters.model_alias = {self.path.stem}
        parameters.verbosity = _QUIET
        parameters.hostnames = [_HOST]
        parameters.port = 0  # any free port
        parameters.api_keys = [key]
        parameters.ui = False
        parameters.endpoint_slots = parameters.endpoint_metrics = parameters.endpoint_props = False
        parameters.n_threads_http = _HTTP_THREADS
        parameters.n_ctx = self._context_tokens
        parameters.n_parallel = PARALLEL
        parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
        parameters.kv_unified = True
        parameters.cache_ram_mib = min(CACHED_PROMPTS_MIB, int(usable_memory_mib() * CACHED_PROMPTS_SHARE))
        # Keep each prompt that leaves the slot; else one with the same fixed part overwrites the passage after that.
        parameters.slot_prompt_similarity = 0.0
        parameters.cache_idle_slots = False  # no gain with one slot, and reported to mix up prompts with more
        parameters.warmup = False  # the first prompt warms up as well
        # Fitting the model to GPU memory opens it a second time: 0.4 of the 3 seconds that loading takes.
        cpu = xllamacpp.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU
        parameters.fit_params = any(device["type"] != cpu for device in xllamacpp.get_device_info())
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = usable_cores()
        # With a scale of 0, and not applied at the start, a request that names no adapter leaves the cache as it is.
        parameters.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(one), 0.0) for one in self.adapters]
        parameters.lora_init_without_apply = True
        if self._prefixes:
            parameters.slot_save_path = f"{self._prefixes.folder}{os.sep}"
            parameters.endpoint_metrics = True
        return parameters


_servers: dict[Path, EmbeddedServer] = {}
_servers_lock = threading.Lock()


def start_embedded(path: Path, prefixes: Prefixes | None = None, adapters: Sequence[Path] = ()) -> EmbeddedServer:
    """Return this process's only server for the file, started; the other arguments matter only in the first call."""
    path = path.resolve()
    with _servers_lock:
        server = _servers.get(path)
        if server is None:
            server = _servers[path] = EmbeddedServer(path, prefixes=prefixes, adapters=adapters)
    server.start()
    return server


def is_serving() -> bool:
    """Return True if this process has called `start_embedded`, even if the server has been stopped since."""
    return bool(_servers)


def usable_cores() -> int:
    """Count the physical cores that this process's affinity and control group allow.

    Returns -1 on other systems than Linux: llama.cpp then chooses by itself, ignoring control groups.
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


def usable_memory_mib() -> int:
    """Return the MiB of memory that this machine has, or fewer if its control group allows fewer; 8,192 if unknown."""
    limit = _read(Path("/sys/fs/cgroup/memory.max"))
    if hasattr(os, "sysconf"):
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return min(machine, int(limit) if limit.isdigit() else machine) >> 20
    return 8192


class _ServerClient:
    """Sends this module's own requests to the server, one connection each."""

    def __init__(self, port: int, key: str) -> None:
        self.port = port
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def __call__(self, path: str, body: Mapping[str, Any] | None = None) -> str:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{_HOST}:{self.port}{path}", data, self._headers)
        try:
            with self._opener.open(request, timeout=60) as response:
                return str(response.read().decode())
        except http.client.HTTPException as error:
            raise OSError(f"{path}: {error!r}") from error


def _shut_connections(port: int) -> None:
    """Shut down all connections to the server, at either end.

    Call this before the stop, which holds the GIL until the last request ends: no thread could close connections then.
    """
    try:
        descriptors = [int(entry.name) for entry in Path("/dev/fd").iterdir()]
    except OSError:  # not on this platform
        return
    for descriptor in descriptors:
        try:
            connection = socket.socket(fileno=os.dup(descriptor))
        except OSError:  # not a socket, or closed meanwhile
            continue
        with connection:
            try:
                if (_HOST, port) in (connection.getsockname(), connection.getpeername()):
                    connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # not connected
                continue


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except OSError:
        return ""


def _binding() -> Any:
    # llama.cpp's threads meet at barriers many times per token. Spinning there, the default, takes the core from
    # the thread waited for as soon as another program is busy: 0.4 tokens/s instead of 8 were measured. OpenMP
    # reads this variable when it is loaded, so it is set before the import; a value set by the user is kept.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError as error:
        raise ModelError(
            f"The embedded model cannot run here ({error}): install what is missing (libgomp1 on Debian and "
            "Ubuntu), or set OPENAI_BASE_URL to a model server."
        ) from error
    return xllamacpp
