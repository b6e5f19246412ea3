"""Which indexes and folders are asked for a package: those that uv would ask, in its order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import assert_never
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from harness.releases.uv_settings import with_uv_settings

__all__ = ["DEFAULT", "FIND_LINKS", "Source", "SourceKind", "index_environment", "redact", "scrub", "sources_for"]

#: The label of what uv finds without being told of a backend.
DEFAULT = "default"
#: The label of folders and flat pages of `UV_FIND_LINKS`.
FIND_LINKS = "find-links"

# `UV_INDEX` may name its indexes: `internal=https://...`.
_NAMED = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)=(?P<url>.*)")
_USERINFO = re.compile(r"(?<=//)[^/@\s]+@")


class SourceKind(StrEnum):
    """How a source lists its files."""

    #: A simple index: one page a project.
    INDEX = "index"
    #: One page that lists the files of any project.
    PAGE = "page"
    #: A folder of this machine.
    FOLDER = "folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A place that offers files.

    Attributes:
        name: What messages call it: `default index`, `UV_INDEX 2`, `cpu index`.
        label: What its files carry as their source: `default`, a backend, or `find-links`.
        kind: How it lists its files.
        url: Its address, credentials and all, or a folder; empty for uv's own default index.
        exclusive: Whether later indexes of the same label are passed over once this one offers the package,
            as uv's default strategy does.
    """

    name: str
    label: str
    kind: SourceKind
    url: str = field(repr=False)
    exclusive: bool = False

    @property
    def address(self) -> str:
        """Where to ask; the default index's address comes from pypi-simple, which takes a while to import."""
        if self.url:
            return self.url
        from pypi_simple import PYPI_SIMPLE_ENDPOINT  # noqa: PLC0415

        return PYPI_SIMPLE_ENDPOINT

    @property
    def key(self) -> str:
        """Names the source in caches: the same for any credentials."""
        return sha256(f"{self.kind} {redact(self.url)}".encode()).hexdigest()[:12]


def sources_for(
    backends: Sequence[str],
    *,
    index_base: str = "",
    nightly_base: str = "",
    environ: Mapping[str, str],
) -> tuple[Source, ...]:
    """What is asked for the files of a subject: indexes as uv orders them, then find-links.

    Args:
        backends: The backends wanted; each but `default` adds its folder below `index_base`.
        index_base: The address under which PyTorch's own indexes lie, one folder a backend; empty for none.
        nightly_base: The same for nightly builds; empty when nightlies are not wanted.
        environ: Where uv's variables are read, and where its configuration files are found.
    """
    environ = with_uv_settings(environ)
    exclusive = not environ.get("UV_INDEX_STRATEGY", "").startswith("unsafe")
    found = list(_backend_sources(backends, index_base, nightly_base))
    for variable in ("UV_INDEX", "UV_EXTRA_INDEX_URL"):
        found += _listed(environ, variable, environ.get(variable, "").split(), exclusive)
    default = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL")
    if default:
        found += _listed(environ, "UV_DEFAULT_INDEX", [default], exclusive)
    else:
        found.append(Source(name="default index", label=DEFAULT, kind=SourceKind.INDEX, url=""))
    found += _find_links(environ.get("UV_FIND_LINKS", ""))
    return tuple(found)


def index_environment(sources: Sequence[Source], environ: Mapping[str, str]) -> dict[str, str]:
    """An environment in which uv asks exactly these sources; the rest of `environ` is kept.

    Addresses travel in variables and never on a command line, where logs and other users would see them.
    """
    kept = {k: v for k, v in environ.items() if k not in {"UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"}}
    indexes = [source for source in sources if source.kind is SourceKind.INDEX and source.url]
    backends = [source for source in indexes if source.label != DEFAULT]
    default = [source for source in indexes if source.name == "UV_DEFAULT_INDEX"]
    extra = [source.url for source in indexes if source not in default]
    links = [source.url for source in sources if source.kind is not SourceKind.INDEX]
    if extra:
        kept["UV_INDEX"] = " ".join(extra)
    if links:
        kept["UV_FIND_LINKS"] = ",".join(links)
    if backends:
        # PyTorch's indexes also hold old copies of numpy and others: the best of all must win, not the first found.
        kept["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return kept


def redact(url: str) -> str:
    """An address without user, password, query and fragment: fit to be stored and shown."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def scrub(text: str) -> str:
    """Any text, with the credentials of the addresses in it taken out."""
    return _USERINFO.sub("", text)


def _backend_sources(backends: Sequence[str], index_base: str, nightly_base: str) -> Iterator[Source]:
    for backend in dict.fromkeys(backends):
        if backend == DEFAULT:
            continue
        for base, kind in ((index_base, ""), (nightly_base, "nightly ")):
            if base:
                yield Source(
                    name=f"{kind}{backend} index",
                    label=backend,
                    kind=SourceKind.INDEX,
                    url=f"{base.rstrip('/')}/{backend}",
                )


def _listed(environ: Mapping[str, str], variable: str, entries: Sequence[str], exclusive: bool) -> Iterator[Source]:
    for number, entry in enumerate(entries, 1):
        named = _NAMED.fullmatch(entry)
        url = _with_credentials(environ, named["name"], named["url"]) if named else entry
        name = named["name"] if named else variable if len(entries) == 1 else f"{variable} {number}"
        yield Source(name=name, label=DEFAULT, kind=SourceKind.INDEX, url=url, exclusive=exclusive)


def _with_credentials(environ: Mapping[str, str], name: str, url: str) -> str:
    """Puts `UV_INDEX_NAME_USERNAME` and `..._PASSWORD` into an address, as uv does for an index with a name."""
    prefix = "UV_INDEX_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper()
    user, password = environ.get(f"{prefix}_USERNAME"), environ.get(f"{prefix}_PASSWORD", "")
    parts = urlsplit(url)
    if not user or "@" in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))


def _find_links(value: str) -> Iterator[Source]:
    for entry in filter(None, (part.strip() for part in value.split(","))):
        kind = SourceKind.PAGE if entry.startswith(("http://", "https://")) else SourceKind.FOLDER
        match kind:
            case SourceKind.PAGE:
                url = entry
            case SourceKind.FOLDER:
                path = unquote(urlsplit(entry).path) if entry.startswith("file:") else entry
                url = str(Path(path).expanduser().absolute())
            case SourceKind.INDEX:  # pragma: no cover - find-links never names an index
                url = entry
            case _:
                assert_never(kind)
        yield Source(name="UV_FIND_LINKS", label=FIND_LINKS, kind=kind, url=url)
